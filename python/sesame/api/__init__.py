"""What `import sesame` offers, which the command line uses, too. The names are in
`sesame/__init__.py`; each name's module is loaded at its first use."""
