package controller

import controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"

// HPAMode is how Plimsoll treats HorizontalPodAutoscalers. It is a flag's value.
type HPAMode = controllerhorizontal.HPAMode

// DefaultTakeoverDelay is how long another controller must have written no status of an HPA before Plimsoll
// acts on it.
const DefaultTakeoverDelay = controllerhorizontal.DefaultTakeoverDelay
