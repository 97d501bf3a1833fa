package scale

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// niced is the command at a nice value.
func niced(nice int, command []string) []string {
	if nice == 0 {
		return command
	}
	return append([]string{"nice", "-n", strconv.Itoa(nice)}, command...)
}

// checkNice starts a process at the nice value and checks its value: without the permission, nice only warns and starts
// the program anyway.
func checkNice(ctx context.Context, nice int) error {
	if nice == 0 {
		return nil
	}
	asked := niced(nice, []string{"nice"})
	answer, err := exec.CommandContext(ctx, asked[0], asked[1:]...).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(asked, " "), err)
	}
	if got := strings.TrimSpace(string(answer)); got != strconv.Itoa(nice) {
		return fmt.Errorf(
			"programs start at a nice value of %s, not of %d: below zero it takes root, or the capability SYS_NICE", got, nice)
	}
	return nil
}
