// Package forecast tests on a real API server that a forecast raises the replica count before a load that has come at
// the same time on the days before, that the status shows it, and that the forecast survives restarts.
package forecast
