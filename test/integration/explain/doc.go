// Package explain tests plimsoll explain, the program, on a real API server: what it
// says, to whom, and whether what it foretells comes.
package explain
