package backends

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// database has a table of tasks, of which each is in a queue.
type database struct {
	kind string
	// client returns the command that runs the statements.
	client func(ctx context.Context, sql string) *exec.Cmd
	// numbers selects the numbers from 1 to a maximum.
	numbers string
	// metadata are those of the connection; target is the key of the target.
	metadata map[string]string
	target   string
}

func (d *database) Set(ctx context.Context, queue string, length int) error {
	sql := fmt.Sprintf("start transaction; delete from tasks where queue = '%s'; ", queue)
	if length > 0 {
		sql += fmt.Sprintf("insert into tasks select '%s' from %s; ", queue, fmt.Sprintf(d.numbers, length))
	}
	return run(d.client(ctx, sql+"commit"))
}

func (d *database) Trigger(queue string, perReplica int) Trigger {
	metadata := map[string]string{
		"query": fmt.Sprintf("select count(*) from tasks where queue = '%s'", queue), d.target: fmt.Sprint(perReplica),
	}
	for key, value := range d.metadata {
		metadata[key] = value
	}
	return Trigger{Type: d.kind, Metadata: metadata, Secret: map[string]string{"password": Password}}
}

const table = "create table tasks (queue varchar(200))"

func startPostgreSQL(ctx context.Context, folder string) (Backend, error) {
	const postgresql = "postgresql"
	paths, port, err := prepare(ctx, folder, map[string]string{
		"initdb": postgresql, "postgres": postgresql, "psql": postgresql,
	})
	if err != nil {
		return nil, err
	}
	password, data := filepath.Join(folder, "password"), filepath.Join(folder, "data")
	if err := os.WriteFile(password, []byte(Password), 0o644); err != nil { //nolint:gosec // of a test
		return nil, err
	}
	initdb := exec.CommandContext(ctx, paths["initdb"], "-D", data, "-U", "shop", "-A", "md5", "--no-sync", "--pwfile",
		password)
	server := lasting(paths["postgres"], "-D", data, "-p", port, "-k", folder, "-F", "-c",
		"listen_addresses=127.0.0.1")
	for _, command := range []*exec.Cmd{initdb, server} {
		if err := as("postgres", folder, command); err != nil {
			return nil, err
		}
	}
	if err := run(initdb); err != nil {
		return nil, err
	}
	if err := serve(ctx, folder, port, server); err != nil {
		return nil, err
	}
	d := &database{
		kind: "postgresql", target: "targetQueryValue", numbers: "generate_series(1, %d)",
		metadata: map[string]string{
			"host": "127.0.0.1", "port": port, "userName": "shop", "dbName": "postgres", "sslmode": "disable",
		},
		client: func(ctx context.Context, sql string) *exec.Cmd {
			command := exec.CommandContext(ctx, paths["psql"], "-h", "127.0.0.1", "-p", port, "-U", "shop", "-d", "postgres",
				"-v", "ON_ERROR_STOP=1", "-c", sql)
			command.Env = append(os.Environ(), "PGPASSWORD="+Password)
			return command
		},
	}
	// It listens before it serves.
	return d, eventually(ctx, func() error { return run(d.client(ctx, table)) })
}

func startMySQL(ctx context.Context, folder string) (Backend, error) {
	paths, port, err := prepare(ctx, folder, map[string]string{
		"mariadb-install-db": "mariadb-server", "mariadbd": "mariadb-server", "mariadb": "mariadb-client",
	})
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	install := exec.CommandContext(ctx, paths["mariadb-install-db"], "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	server := lasting(paths["mariadbd"], "--no-defaults", "--datadir="+data, "--port="+port,
		"--bind-address=127.0.0.1", "--socket="+filepath.Join(folder, "socket"), "--pid-file="+filepath.Join(folder, "pid"))
	for _, command := range []*exec.Cmd{install, server} {
		if err := as("mysql", folder, command); err != nil {
			return nil, err
		}
	}
	if err := run(install); err != nil {
		return nil, err
	}
	if err := serve(ctx, folder, port, server); err != nil {
		return nil, err
	}
	client := func(ctx context.Context, more ...string) *exec.Cmd {
		return exec.CommandContext(ctx, paths["mariadb"], append([]string{
			"--no-defaults", "-h", "127.0.0.1", "-P", port, "-u", "root", "--skip-ssl"}, more...)...)
	}
	d := &database{
		kind: "mysql", target: "queryValue", numbers: "seq_1_to_%d",
		metadata: map[string]string{"host": "127.0.0.1", "port": port, "username": "worker", "dbName": "shop"},
		client:   func(ctx context.Context, sql string) *exec.Cmd { return client(ctx, "-D", "shop", "-e", sql) },
	}
	return d, run(client(ctx, "-e", "create database shop; use shop; "+table+"; create user worker@'127.0.0.1' "+
		"identified by '"+Password+"'; grant select on shop.* to worker@'127.0.0.1'"))
}
