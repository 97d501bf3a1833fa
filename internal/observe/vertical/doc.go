// Package vertical translates between the API's objects and what the vertical
// core decides with: VerticalPodAutoscalers, pods, LimitRanges, checkpoints and
// recommendations. It makes no API calls and reads no clock.
package vertical
