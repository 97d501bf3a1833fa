// Package scoreboard plays many loads with upstream's loop and with Plimsoll's at the
// same target, and puts their scores into one table: the traces of a folder, or
// generated days.
package scoreboard
