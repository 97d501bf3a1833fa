package flags

import "github.com/spf13/pflag"

// groupAnnotation has the title under which help shows a flag.
const groupAnnotation = "plimsoll_group"

// AddGroup adds flags that help shows under a title. The groups stand in the order in which they are added.
func AddGroup(fs *pflag.FlagSet, title string, add ...func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(title, pflag.ContinueOnError)
	for _, each := range add {
		each(group)
	}
	group.VisitAll(func(each *pflag.Flag) { annotate(group, each.Name, groupAnnotation, []string{title}) })
	fs.SortFlags = false
	fs.AddFlagSet(group)
}

// Group are the flags under one title.
type Group struct {
	Title string
	Flags []*pflag.Flag
}

// Groups are the flags that help shows, by their titles; those without a title are the last group. There are none
// where no flag has a title.
func Groups(fs *pflag.FlagSet) []Group {
	var groups []Group
	var rest Group
	fs.VisitAll(func(each *pflag.Flag) {
		title := each.Annotations[groupAnnotation]
		switch last := len(groups) - 1; {
		case each.Hidden:
		case len(title) == 0:
			rest.Flags = append(rest.Flags, each)
		case last >= 0 && groups[last].Title == title[0]:
			groups[last].Flags = append(groups[last].Flags, each)
		default:
			groups = append(groups, Group{Title: title[0], Flags: []*pflag.Flag{each}})
		}
	})
	if len(groups) > 0 && len(rest.Flags) > 0 {
		rest.Title = "Other"
		groups = append(groups, rest)
	}
	return groups
}
