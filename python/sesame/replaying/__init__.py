"""Replay: a traced run repeated on a real file system."""
