// Package vertical converts between the API's objects and the values of the vertical core: VerticalPodAutoscalers,
// pods, LimitRanges, checkpoints and recommendations. It makes no API calls and reads no clock.
package vertical
