// Package updater tests the updater on a real API server: each update mode, the budgets that limit it, and
// the conditions and events about them. The admission controller is played by a Lease that the tests renew.
package updater
