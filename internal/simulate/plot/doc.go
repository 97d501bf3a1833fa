// Package plot draws runs as a picture or in a terminal: the load, the desired and
// ready pods, how much of their requests they used, and latency.
//
// The colours are those of Okabe and Ito (Color Universal Design, 2008), which
// people with any kind of colour vision can distinguish. Lines differ in their
// dashes too.
package plot
