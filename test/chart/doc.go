// Package chart tests charts/plimsoll. Without tags it renders the chart with Helm's library: make unit and make test
// run that. With the tag helm it installs, upgrades, rolls back and removes releases on the development cluster with
// bin/helm, which make test-chart builds.
//
// What the chart takes from config/ is copied, and its README's table is written, by make chart:
//
//	go test . -args -update
package chart
