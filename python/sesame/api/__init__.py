"""What `import sesame` offers; the command line is a user of it. Each name's module is loaded at
its first use."""
