// Package noise measures what the surge window does to loads that are noisy and to
// loads that really rise. It plays the controller's loop under virtual time, the world,
// meter and loop of plimsoll simulate, twice for each seed: with the stable window
// alone, an average over 15 s, and with the surge window beside it. What the second does
// beyond the first is what the surge window costs where nothing but noise is there, and
// what it is worth where the load rises.
//
// Work that each pod does by itself is played a third time, with upstream's controller
// and its defaults: more pods do not make it less, and who takes it for load pays.
package noise
