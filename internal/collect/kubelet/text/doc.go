// Package text reads the Prometheus text of the kubelet's /metrics/resource and
// nothing else: the samples of eight families, and of three of /metrics/cadvisor,
// without allocating, straight from the bytes of the answer.
//
// # Shape and units
//
// A [Sample] has the family, the labels as they stand in the text, the value in
// the family's own unit (seconds of CPU, bytes, seconds since 1970) and, where
// the text has one, the timestamp in milliseconds since 1970. Values may be NaN
// or infinite; the text format has both, and what they mean is for others to say.
//
// # What is accepted
//
// The measure is the Prometheus library's own parser (expfmt.TextParser with
// UTF-8 names), applied to the sample lines of the wanted families alone:
//
//   - What this parser accepts, expfmt accepts too, and with the same samples.
//   - What expfmt accepts, whole and reduced to those lines, this parser accepts,
//     but for two things: metric and label names in quotes, which no family here
//     needs ([ErrQuotedName], on whichever line they stand), and what is beyond
//     the bounds of [Config] ([ErrTooLarge]).
//
// Comments and other families are passed over unread, but for the first bytes of
// each line: TYPE has no say in how a value is read, and a mistake inside them
// goes unnoticed. A text that does not end with a line is an error
// ([ErrTruncated]): the last number could be the beginning of a longer one.
//
// After an error the samples that were handed out before it are worth nothing;
// whoever keeps them waits for the end of the text first.
package text
