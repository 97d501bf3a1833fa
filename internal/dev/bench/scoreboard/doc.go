// Package scoreboard plays many loads with several sides at the same target: upstream's loop, Plimsoll's, and
// Plimsoll's with forecasts. It compares how long each was short of capacity, and what it paid for that. The loads are
// the traces of a folder, generated days, or made-up weeks.
package scoreboard
