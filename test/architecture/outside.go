package architecture

import (
	"fmt"
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// outsideBreaches finds tests of internal/dev that name files outside of that module by a relative path. The go
// command would print a remembered result of such a test although the file has changed; build.Root is how it notices.
// Tests with a cluster are always run.
func outsideBreaches(files []file) []string {
	var found []string
	for _, f := range files {
		if !f.isTest() || !f.isBelow(development) || f.isBelow(development+"/test") {
			continue
		}
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			literal, isLiteral := node.(*ast.BasicLit)
			if !isLiteral {
				return true
			}
			name, err := strconv.Unquote(literal.Value)
			if err != nil || !strings.HasPrefix(name, "../") {
				return true
			}
			if target := path.Join(path.Dir(f.path), name); !strings.HasPrefix(target, development+"/") {
				found = append(found, fmt.Sprintf("%s names %s by a relative path: find it by build.Root",
					f.at(node.Pos()), target))
			}
			return true
		})
	}
	return found
}
