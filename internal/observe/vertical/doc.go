// Package vertical translates between the API's objects and what the vertical
// core decides with: VerticalPodAutoscalers, pods, LimitRanges, checkpoints and
// recommendations. It calls nobody and knows no time.
package vertical
