// Package explain tests plimsoll explain and plimsoll advise, the program, on a real API
// server: what they say, to whom, and whether what is foretold comes.
package explain
