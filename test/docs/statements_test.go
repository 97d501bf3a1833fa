package docs

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A statement of the code sets a condition or makes an event. Its parts are expressions.
type statement struct {
	at string // file:line, for errors
	// kind is the condition's type; nil for an event. Truth is its status, or whether an event is a warning.
	kind, truth, reason, message ast.Expr
	file                         *sourceFile
}

// sourceFile is a parsed file, with the folders of the packages that it imports by their names in it.
type sourceFile struct {
	*ast.File
	folder  string
	imports map[string]string
}

// code is a part of the repository's packages, without their tests.
type codeBase struct {
	root   string
	set    *token.FileSet
	folder map[string][]*sourceFile
}

func newCodeBase(t *testing.T) *codeBase {
	t.Helper()
	return &codeBase{root: repository(t), set: token.NewFileSet(), folder: map[string][]*sourceFile{}}
}

// files parses a package, by its folder in the repository.
func (c *codeBase) files(t *testing.T, folder string) []*sourceFile {
	t.Helper()
	if files, isParsed := c.folder[folder]; isParsed {
		return files
	}
	paths, err := filepath.Glob(filepath.Join(c.root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	c.folder[folder] = nil
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(c.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		file := &sourceFile{File: parsed, folder: folder, imports: map[string]string{}}
		for _, spec := range parsed.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			of, isOurs := strings.CutPrefix(path, "github.com/plimsoll-dev/plimsoll/")
			if !isOurs {
				continue
			}
			name := filepath.Base(of)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			file.imports[name] = of
		}
		c.folder[folder] = append(c.folder[folder], file)
	}
	return c.folder[folder]
}

// constant is the text of a constant of a package; false if there is none of that name.
func (c *codeBase) constant(t *testing.T, folder, name string) (string, bool) {
	t.Helper()
	for _, file := range c.files(t, folder) {
		for _, declaration := range file.Decls {
			block, isBlock := declaration.(*ast.GenDecl)
			if !isBlock || block.Tok != token.CONST {
				continue
			}
			for _, spec := range block.Specs {
				value := spec.(*ast.ValueSpec)
				for i := range value.Values {
					if value.Names[i].Name == name {
						return c.text(t, file, value.Values[i])
					}
				}
			}
		}
	}
	return "", false
}

// text is the text of an expression that is constant.
func (c *codeBase) text(t *testing.T, file *sourceFile, of ast.Expr) (string, bool) {
	t.Helper()
	switch of := of.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(of.Value)
		return text, err == nil && of.Kind == token.STRING
	case *ast.Ident:
		return c.constant(t, file.folder, of.Name)
	case *ast.SelectorExpr:
		if name, isName := of.X.(*ast.Ident); isName && file.imports[name.Name] != "" {
			return c.constant(t, file.imports[name.Name], of.Sel.Name)
		}
	}
	return "", false
}

// verbs are those of fmt.
var verbs = regexp.MustCompile(`%[+#.0-9]*[a-z]`)

// gist is the text of a message, with … for what is not constant.
func (c *codeBase) gist(t *testing.T, file *sourceFile, of ast.Expr) string {
	t.Helper()
	if text, isConstant := c.text(t, file, of); isConstant {
		return verbs.ReplaceAllString(text, "…")
	}
	switch of := of.(type) {
	case *ast.BinaryExpr:
		return strings.ReplaceAll(c.gist(t, file, of.X)+c.gist(t, file, of.Y), "……", "…")
	case *ast.CallExpr:
		if len(of.Args) > 0 && c.source(of.Fun) == "fmt.Sprintf" {
			return c.gist(t, file, of.Args[0])
		}
	}
	return "…"
}

// source is an expression as it is written.
func (c *codeBase) source(of ast.Node) string {
	var b strings.Builder
	_ = printer.Fprint(&b, c.set, of)
	return b.String()
}

// statements finds those of all packages below a folder.
func (c *codeBase) statements(t *testing.T, below string) []statement {
	t.Helper()
	var all []statement
	err := filepath.WalkDir(filepath.Join(c.root, filepath.FromSlash(below)),
		func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if name := entry.Name(); name == "testdata" || strings.HasSuffix(name, "test") {
				return fs.SkipDir
			}
			folder, err := filepath.Rel(c.root, path)
			for _, file := range c.files(t, filepath.ToSlash(folder)) {
				ast.Inspect(file.File, func(node ast.Node) bool {
					if s, isOne := c.statementOf(node); isOne {
						s.file = file
						position := c.set.Position(node.Pos())
						s.at = filepath.ToSlash(folder) + "/" + filepath.Base(position.Filename) + ":" + strconv.Itoa(position.Line)
						all = append(all, s)
					}
					return true
				})
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// statementOf reads one: a call of a method that sets a condition or makes an event, or the value itself.
func (c *codeBase) statementOf(node ast.Node) (s statement, isOne bool) {
	switch node := node.(type) {
	case *ast.CallExpr:
		if method, isMethod := node.Fun.(*ast.SelectorExpr); isMethod {
			return c.call(method.Sel.Name, node.Args)
		}
	case *ast.CompositeLit:
		if node.Type != nil {
			return c.value(node)
		}
	}
	return s, false
}

// A form is that of the calls of a method: the places of its arguments. Events have no kind.
type form struct{ args, kind, truth, reason, message int }

// absent is of an argument that a method does not have.
const absent = 99

var forms = map[string][]form{
	"Set":    {{4, 0, 1, 2, 3}},
	"put":    {{4, 0, 1, 2, 3}},
	"when":   {{4, 0, 1, 2, 3}},
	"Show":   {{5, 0, 1, 3, 4}},
	"Warn":   {{2, absent, absent, 0, 1}, {4, absent, absent, 2, 3}},
	"Event":  {{4, absent, 1, 2, 3}},
	"Eventf": {{4, absent, 1, 2, 3}, {5, absent, 1, 2, 3}, {6, absent, 1, 2, 3}},
}

func (c *codeBase) call(method string, args []ast.Expr) (s statement, isOne bool) {
	if method == "when" && len(args) == 4 && c.source(args[1]) == "false" {
		return s, false // it only removes the condition
	}
	for _, f := range forms[method] {
		if f.args != len(args) {
			continue
		}
		s = statement{reason: args[f.reason], message: args[f.message], truth: ast.NewIdent("true")}
		if f.kind != absent {
			s.kind = args[f.kind]
		}
		if f.truth != absent {
			s.truth = args[f.truth]
		}
		return s, true
	}
	return s, false
}

// value reads a condition or an event that is written as a value.
func (c *codeBase) value(of *ast.CompositeLit) (s statement, isOne bool) {
	fields := map[string]ast.Expr{}
	for _, element := range of.Elts {
		if pair, isPair := element.(*ast.KeyValueExpr); isPair {
			fields[c.source(pair.Key)] = pair.Value
		}
	}
	s = statement{kind: fields["Type"], truth: fields["Status"], reason: fields["Reason"], message: fields["Message"]}
	if s.reason == nil {
		return s, false
	}
	switch name := c.source(of.Type); {
	case name == "condition.Condition":
		return s, true
	case strings.HasSuffix("."+name, ".Event"):
		s.kind, s.truth = nil, fields["Warning"]
		if s.truth == nil {
			s.truth = ast.NewIdent("false")
		}
		return s, true
	}
	return s, false
}
