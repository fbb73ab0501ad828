"""What all HTTP servers of Sesame share: `listening` opens sockets, `serve` makes and runs an
application, `tokens` and `access` say who may do what, `limits` and `protection` limit requests and
add security headers, `audit` keeps a record of who changed what and who was refused."""
