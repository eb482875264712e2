"""Tables on object stores, against a local server that speaks their protocols."""
