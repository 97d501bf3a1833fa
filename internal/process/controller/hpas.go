package controller

import (
	"fmt"
	"strings"
)

// HPAMode is what becomes of HorizontalPodAutoscalers. It is a flag's value.
type HPAMode string

// The modes.
const (
	// AutoHPAs decides HPAs, and leaves those alone whose status another controller writes.
	AutoHPAs HPAMode = "auto"
	// IgnoreHPAs leaves all of them to another controller.
	IgnoreHPAs HPAMode = "ignore"
)

// Set implements pflag.Value.
func (m *HPAMode) Set(text string) error {
	switch mode := HPAMode(text); mode {
	case AutoHPAs, IgnoreHPAs:
		*m = mode
		return nil
	}
	return fmt.Errorf("must be one of %s", strings.Join([]string{string(AutoHPAs), string(IgnoreHPAs)}, ", "))
}

// String implements pflag.Value.
func (m *HPAMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *HPAMode) Type() string { return "mode" }
