// Package noise measures what the surge window does under noisy loads and under
// rising loads. It plays the controller's loop in virtual time, with the world,
// meter and loop of plimsoll simulate, twice per seed: with the stable window alone
// (an average over 15 s), and with the surge window beside it. Under noise the
// difference is the cost of the surge window, under a rising load its benefit.
//
// Work that each pod does by itself is played a third time, with upstream's
// controller and its defaults: more pods do not reduce such work, so every replica
// added for it is wasted.
package noise
