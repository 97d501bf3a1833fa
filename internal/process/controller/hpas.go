package controller

import controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"

// HPAMode is the mode for HorizontalPodAutoscalers. It is a flag's value.
type HPAMode = controllerhorizontal.HPAMode

// DefaultTakeoverDelay is how long no other controller must have written the status of an HPA before Plimsoll acts on
// it.
const DefaultTakeoverDelay = controllerhorizontal.DefaultTakeoverDelay
