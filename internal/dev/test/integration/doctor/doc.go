// Package doctor tests that plimsoll doctor names what is broken on a real API server, and nothing on a good one.
package doctor
