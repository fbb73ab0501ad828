"""The one design of all pages, and what all of Sesame's HTTP servers share.

`page` makes a page, `chart` and `table` what stands in it; `server` serves. A page is the same text
as a file and served: it holds its styles and scripts, and a policy that lets nothing else run.
"""
