// Package plot draws runs: the load, the pods that were wanted and ready, how much of
// their requests they used, and latency; as a picture or in a terminal.
//
// The colours are those of Okabe and Ito (Color Universal Design, 2008), which people
// with any kind of colour vision can tell apart. Lines differ in their dashes too.
package plot
