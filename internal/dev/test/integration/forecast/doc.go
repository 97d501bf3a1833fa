// Package forecast tests on a real API server that a forecast raises the replica count before a load that has come
// at the same time on the days before, that it says so, and that restarts do not forget what was learnt.
package forecast
