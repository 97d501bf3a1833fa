// Command protoc writes Go code for a .proto file: it compiles the file without protoc, which would have to be
// installed, and runs the plugins that go.mod names.
//
//	go run -C tools/codegen ./protoc DIRECTORY FILE.proto
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugins are those of go.mod.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protoc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("usage: protoc DIRECTORY FILE.proto")
	}
	directory, file := arguments[0], arguments[1]
	request, err := compile(ctx, directory, file)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := generate(ctx, directory, plugin, request); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// compile is the request to a plugin.
func compile(ctx context.Context, directory, file string) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver: &protocompile.SourceResolver{ImportPaths: []string{directory}},
		// Plugins copy comments into the code.
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, file)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file},
		Parameter:      new("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
}

// generate writes what the plugin makes of the request.
func generate(ctx context.Context, directory, plugin string, request []byte) error {
	command := exec.CommandContext(ctx, "go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.File {
		name := filepath.Join(directory, filepath.Base(file.GetName()))
		//nolint:gosec // source code is for all to read
		if err := os.WriteFile(name, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
