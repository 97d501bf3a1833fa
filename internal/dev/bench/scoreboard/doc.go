// Package scoreboard plays many loads with upstream's loop and with Plimsoll's, at
// the same target, and prints their scores in one table. The loads are the traces
// of a folder, or generated days.
package scoreboard
