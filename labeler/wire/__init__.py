"""How anything reaches another machine: one gate, one transport, one set of bounds."""
