"""The repository: data sets, tools and models with pages in a browser (`sesame serve`).

`store` has the tables and files. Each part (`playback`, `search`, …) is a package with some of
`routes(repository)`, `panel(repository, thing, reader)`, `links(thing)` and `api(repository)`.
`app` puts them together. Only `sesame serve` and verbs that are given an address import it.
"""
