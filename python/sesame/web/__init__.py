"""The one design of all pages, and what all of Sesame's HTTP servers share.

`page` makes a page, `chart` and `table` make its content, and `server` serves pages. A page is the
same text as a file and from a server: it contains its styles and scripts, and a policy that lets
nothing else run.
"""
