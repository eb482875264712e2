"""What is wrong with a table, what two tables differ in, and what can be repaired."""
