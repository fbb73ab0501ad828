"""What all readers of traced runs know: which call does what, who is in a communicator, which
receive belongs to which send."""
