// Package explain tests plimsoll explain and plimsoll advise, the program, on a real API
// server: what they print, with which permissions, and whether predictions come true.
package explain
