package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/natsbus"
	"github.com/respawnd/respawnd/internal/durable"
	"github.com/respawnd/respawnd/webservices/auth"
)

const prepareHelp = `Write a folder for each machine of a cluster, with all that it needs: configuration,
certificate, the file with the address of the database, and the keys that all machines share. Copy it
to the machine as the folder of --path, and start respawnd there.

A machine is written as NAME=HOST or NAME=HOST:PORT. HOST is how the others reach it, on TCP
port 6222 if none is given. Name them again with a new one to add it later: those that are there stay
as they are. The folder "authority" makes further machines; keep it offline, and a copy of it with
your backups. --keys takes the keys of a daemon that you move to the cluster from its data folder.`

// Files of a node and of the authority.
const (
	authorityDir  = "authority"
	authorityCert = "cluster-ca.crt"
	authorityKey  = "cluster-ca.key"
	nodeCert      = "node.crt"
	nodeKey       = "node.key"
	databaseFile  = "postgres.url"
)

// partEnd ends the name of a node's folder until that is complete.
const partEnd = ".part"

// clusterPort is the port of cluster.listen.
const clusterPort = "6222"

// preparation is the flags of cluster prepare, and what follows from them.
type preparation struct {
	folder  string // where it writes
	name    string
	urlFile string
	keys    string
	path    string // of a node's folder on its machine

	url    []byte
	signer *natsbus.Authority
	shared map[string][]byte // files that each node has
}

// member is a node as the user names it.
type member struct{ name, host, port string }

func (m member) address() string { return net.JoinHostPort(m.host, m.port) }

func clusterPrepare(con *cli.Console) *cobra.Command {
	var p preparation
	cmd := cli.Leaf("prepare FOLDER NAME=HOST...", "Write a folder for each machine of a new cluster", cobra.MinimumNArgs(2), func(_ context.Context, args []string) error {
		p.folder = args[0]
		return p.run(con, args[1:])
	})
	cmd.Long = prepareHelp
	flags := cmd.Flags()
	flags.StringVar(&p.urlFile, "url-file", "", "file with the address of the database, required: postgres://USER:PASSWORD@HOST/NAME?sslmode=verify-full")
	flags.StringVar(&p.name, "name", "community", "name of the cluster")
	flags.StringVar(&p.path, "path", "/etc/respawnd", "where a machine will have its folder")
	flags.StringVar(&p.keys, "keys", "", "data folder of a daemon whose keys the cluster takes")
	return cmd
}

func (p *preparation) run(con *cli.Console, args []string) (err error) {
	members, err := parseMembers(args)
	if err == nil {
		err = p.check(members)
	}
	if err != nil {
		return cli.Misused(err)
	}
	if p.url, err = os.ReadFile(p.urlFile); err == nil && len(bytes.TrimSpace(p.url)) == 0 {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return fmt.Errorf("--url-file: %w", err)
	}
	if err := p.authority(); err != nil {
		return err
	}
	for _, m := range members {
		made, err := p.node(m, members)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		what := fmt.Sprintf("copy it to %s as %s, and start respawnd", m.host, p.path)
		if !made {
			what = "was there, and stays as it is"
		}
		if err := con.Say("%s: %s", filepath.Join(p.folder, m.name), what); err != nil {
			return err
		}
	}
	return con.Say("%s: makes further machines; keep it offline, with a copy", filepath.Join(p.folder, authorityDir))
}

// check returns a mistake in the flags, or a node that is there and not named: a new one would not
// find it.
func (p *preparation) check(members []member) error {
	if err := cluster.CheckName(p.name); err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	switch {
	case p.urlFile == "":
		return errors.New("--url-file is needed")
	case !path.IsAbs(filepath.ToSlash(p.path)) || strings.ContainsAny(p.path, "\"\\\n"):
		return errors.New("--path: want the absolute path of a folder on Linux")
	}
	there, err := os.ReadDir(p.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range there {
		named := func(m member) bool { return m.name == d.Name() }
		if d.IsDir() && d.Name() != authorityDir && !strings.HasSuffix(d.Name(), partEnd) && !slices.ContainsFunc(members, named) {
			return fmt.Errorf("%s has a folder %s: name that machine too, or remove the folder", p.folder, d.Name())
		}
	}
	return nil
}

// parseMembers parses nodes, NAME=HOST or NAME=HOST:PORT.
func parseMembers(args []string) (list []member, err error) {
	seen := make(map[string]bool)
	for _, arg := range args {
		m := member{port: clusterPort}
		m.name, m.host, _ = strings.Cut(arg, "=")
		if host, port, err := net.SplitHostPort(m.host); err == nil {
			m.host, m.port = host, port
		}
		m.host = strings.Trim(m.host, "[]")
		_, badPort := strconv.ParseUint(m.port, 10, 16)
		switch {
		case cluster.CheckName(m.name) != nil || m.name == authorityDir || seen[m.name]:
			return nil, fmt.Errorf("%q: want NAME=HOST, each name once, of 1 to %d letters, digits, dashes and underscores, and not %q", arg, cluster.MaxName, authorityDir)
		case m.host == "" || strings.ContainsAny(m.host, " \t\n\"'\\,#") || badPort != nil:
			return nil, fmt.Errorf("%q: want NAME=HOST or NAME=HOST:PORT", arg)
		}
		seen[m.name] = true
		list = append(list, m)
	}
	return list, nil
}

// authority reads the files of the authority, or makes them.
func (p *preparation) authority() (err error) {
	dir := filepath.Join(p.folder, authorityDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	cert, err := os.ReadFile(filepath.Join(dir, authorityCert))
	switch {
	case err == nil:
		var key []byte
		if key, err = os.ReadFile(filepath.Join(dir, authorityKey)); err == nil {
			p.signer, err = natsbus.ReadAuthority(cert, key)
		}
	case errors.Is(err, fs.ErrNotExist):
		var key []byte
		if p.signer, cert, key, err = natsbus.NewAuthority(); err == nil {
			err = errors.Join(durable.WriteSecret(filepath.Join(dir, authorityKey), key, false), durable.WriteSecret(filepath.Join(dir, authorityCert), cert, false))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	p.shared = map[string][]byte{authorityCert: cert, databaseFile: p.url}
	for name, make := range map[string]func(file string) error{
		accounts.KeyName: func(file string) error { _, err := seal.Create(file); return err },
		auth.KeyName:     func(file string) error { _, err := auth.OpenKey(file); return err },
	} {
		if p.shared[name], err = p.key(filepath.Join(dir, name), make); err != nil {
			return err
		}
	}
	return nil
}

// key returns a key that all nodes share: the one that is there, else that of --keys, else a new one.
func (p *preparation) key(file string, make func(file string) error) ([]byte, error) {
	name := filepath.Base(file)
	text, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if p.keys != "" {
		text, err = os.ReadFile(filepath.Join(p.keys, name))
		switch {
		case err == nil:
			return text, durable.WriteSecret(file, text, false)
		case name == accounts.KeyName || !errors.Is(err, fs.ErrNotExist): // it was needed from the first
			return nil, fmt.Errorf("--keys: %w", err)
		}
	}
	if err := make(file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// node writes the folder of a node, unless it is there.
func (p *preparation) node(m member, all []member) (made bool, err error) {
	dir := filepath.Join(p.folder, m.name)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	files := map[string][]byte{"respawnd.yaml": p.config(m, all)}
	if files[nodeCert], files[nodeKey], err = p.signer.Node(m.name); err != nil {
		return false, err
	}
	part := dir + partEnd
	if err := errors.Join(os.RemoveAll(part), os.Mkdir(part, 0o700)); err != nil {
		return false, err
	}
	for _, some := range []map[string][]byte{files, p.shared} {
		for name, content := range some {
			if err := durable.WriteSecret(filepath.Join(part, name), content, false); err != nil {
				return false, err
			}
		}
	}
	return true, os.Rename(part, dir)
}

// nodeConfig is the configuration of a node.
var nodeConfig = template.Must(template.New("").Parse(`# Machine {{.Node.Name}} of the cluster {{.Name}}. All keys with their meaning: respawnd config
data_dir: /var/lib/respawnd
log:
  format: json
storage:
  engine: postgres
  postgres:
    url_file: "{{.Path}}/{{.Database}}"
accounts:
  key_file: "{{.Path}}/{{.AccountKey}}"
webservices:
  key_file: "{{.Path}}/{{.ServiceKey}}"
cluster:
  name: "{{.Name}}"
  node: "{{.Node.Name}}"
  listen: ":{{.Node.Port}}"
  peers: [{{range $i, $p := .Peers}}{{if $i}}, {{end}}"{{$p}}"{{end}}]
  tls:
    cert: "{{.Path}}/{{.Cert}}"
    key: "{{.Path}}/{{.Key}}"
    ca: "{{.Path}}/{{.CA}}"
`))

func (p *preparation) config(m member, all []member) []byte {
	type node struct{ Name, Port string }
	data := struct {
		Node                                                        node
		Name, Path, Database, AccountKey, ServiceKey, Cert, Key, CA string
		Peers                                                       []string
	}{
		Node: node{m.name, m.port}, Name: p.name, Path: filepath.ToSlash(p.path), Database: databaseFile,
		AccountKey: accounts.KeyName, ServiceKey: auth.KeyName, Cert: nodeCert, Key: nodeKey, CA: authorityCert,
	}
	for _, other := range all {
		if other != m {
			data.Peers = append(data.Peers, other.address())
		}
	}
	var b bytes.Buffer
	_ = nodeConfig.Execute(&b, data) // its fields are there, and memory takes what is written
	return b.Bytes()
}
