package explained

import (
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

func linesOf(all []output.Line) []view.Line {
	shown := make([]view.Line, len(all))
	for i := range all {
		shown[i] = view.Line{
			Label: all[i].Label, Text: all[i].Text, IsStrong: all[i].IsStrong, IsHeading: all[i].IsHeading,
		}
	}
	return shown
}
