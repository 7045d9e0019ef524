"""Models: what answers a `Request`, and the policies that wrap one."""
