package games

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/internal/ascii"
)

// MaxFileSize is the size in bytes of the longest file that the package reads.
const MaxFileSize = 16 << 20

// maxYAMLMarks bounds the characters of a YAML file that can begin a value. The
// parser needs some 200 bytes for each value, however short it is, so that the size
// of the file does not bound its memory. A record has about 12 of them.
const maxYAMLMarks = 2 << 20

// Errors that refuse the whole list.
var (
	ErrTooLarge       = errors.New("the file is too large")
	ErrTooManyRecords = errors.New("too many records")
)

// ParseYAML reads a list of games in the project's own form:
//
//	games:
//	  - name: gmtest            # required
//	    title: Test game
//	    secret: HA6zkS          # or secrets: [first, second]
//	    id: 1
//	    port: 6500
//	    backend_flags: 0x80
//	    disabled_services: 2
//	    maintenance: off
//	    rooms: [{id: 7, name: Lobby, max_waiting: 50, fields: {roomType: "1"}}]
//	    tables: [{name: levels, fields: [score:int, title:unicode], limit: 10, read: all, write: owner,
//	      rateable: off, public: on}]
//	    domains: [example.org]
//	    hosts: [master.example.org, motd.example.com webservices]
//	    namespace: 12
//	    partner: 0
//	    lan_ports: [23000]
//	    needs: [qr2, serverbrowse]
//	    uses: [cdkey]
//	    via: Write MasterServerAddress=master.example.org into game.ini
//	    aliases: [gmtestd]
//	    shared_list: on
//	    note: a remark
//	    keys: [hostname, numplayers:1]
//	    policy: {strict_availability: on, no_secure: on, strict_legacy_validate: on,
//	      second_login: user, auto_accept: on, symmetric_delete: on, no_user_id: on, a2s: on, no_relay: on, zero_stats: on}
//
// A key that is missing, or has no value, is not stated; see [Game]. Anchors,
// merge keys, unknown keys and keys that occur twice are refused.
//
// source is copied into every game, with the record's line. All mistakes in
// records are returned together as an *InvalidError; invalid YAML, ErrTooLarge
// and ErrTooManyRecords end the reading.
func ParseYAML(r io.Reader, source Source) ([]Game, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var probs problems
	list, _, err := parseYAML(data, source, &probs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	seen := make(map[string]Source, len(list))
	good := list[:0:0]
	for _, g := range list {
		if first, twice := seen[g.Name]; twice {
			probs.add(g.Source, g.Name, "already in %s", first)
			continue
		}
		seen[g.Name] = g.Source
		good = append(good, g)
	}
	if probs.total > 0 { // errors between the other records are reported with it
		_, err := build([][]Game{good}, nil)
		probs.join(err)
		return nil, probs.err()
	}
	return list, nil
}

// readAll reads at most MaxFileSize bytes and drops a byte order mark.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileSize {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFileSize)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// parseYAML returns the valid records of a document, and the number of all.
// Problems of the others are added to probs.
func parseYAML(data []byte, source Source, probs *problems) (list []Game, read int, err error) {
	if yamlMarks(data) > maxYAMLMarks {
		return nil, 0, fmt.Errorf("%w: more than %d values", ErrTooLarge, maxYAMLMarks)
	}
	root, err := onlyDocument(data)
	if err != nil || root == nil {
		return nil, 0, err
	}
	y := yamlReader{source: source, probs: probs}
	y.eachKey(root, func(key string, k, v *yaml.Node) {
		if key != "games" {
			y.bad(k, "unknown key %q, want games", shorten(key))
			return
		}
		if v.Kind != yaml.SequenceNode {
			y.bad(v, "games must be a list")
			return
		}
		if read = len(v.Content); read > MaxRecords {
			err = fmt.Errorf("%w: %d, at most %d are allowed", ErrTooManyRecords, read, MaxRecords)
			return
		}
		for _, item := range v.Content {
			if g, ok := y.game(item); ok {
				list = append(list, g)
			}
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return list, read, nil
}

// yamlMarks counts the characters without which no further value can begin.
func yamlMarks(data []byte) (n int) {
	for _, c := range []byte(",:-?[{") {
		n += bytes.Count(data, []byte{c})
	}
	return n
}

// onlyDocument returns the root of the only document, nil if there is none.
func onlyDocument(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("more than one document"), err)
	}
	if len(doc.Content) != 1 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// yamlReader turns nodes into records and collects mistakes with their lines.
type yamlReader struct {
	source Source
	probs  *problems
	name   string // of the game that is being read, for messages
}

func (y *yamlReader) bad(n *yaml.Node, format string, args ...any) {
	at := y.source
	at.Line = n.Line
	y.probs.add(at, y.name, format, args...)
}

// eachKey calls f for every key of the mapping n that has a value.
func (y *yamlReader) eachKey(n *yaml.Node, f func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		y.bad(n, "want keys with values")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode:
			y.bad(k, "a key must be a word")
		case seen[k.Value]:
			y.bad(k, "the key %q is there twice", shorten(k.Value))
		case !isNull(v):
			f(k.Value, k, v)
		}
		seen[k.Value] = true
	}
}

// game reads one record; ok is false if anything is wrong with it.
func (y *yamlReader) game(n *yaml.Node) (g Game, ok bool) {
	if n.Kind != yaml.MappingNode {
		y.bad(n, "a game must be keys with values")
		return Game{}, false
	}
	before := y.probs.total
	y.name = nameIn(n)
	defer func() { y.name = "" }()
	g.Name = y.name
	g.Source = y.source
	g.Source.Line = n.Line
	var given Fields
	var secretKey string // the one of secret and secrets that was used
	y.eachKey(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "name":
			y.text(k, v)
		case "title":
			g.Title = y.text(k, v)
		case "secret", "secrets":
			if secretKey != "" {
				y.bad(k, "%s and %s: one of them is enough", secretKey, key)
			}
			secretKey = key
			g.Secrets = y.secrets(k, v)
			given |= FieldSecrets
		case "id":
			g.ID = int(y.number(k, v, 0, 31))
			given |= FieldID
		case "port":
			g.QueryPort = uint16(y.number(k, v, 1, 16))
		case "backend_flags":
			g.BackendFlags = uint16(y.number(k, v, 0, 16))
			given |= FieldBackendFlags
		case "disabled_services":
			g.DisabledServices = uint32(y.number(k, v, 0, 32))
			given |= FieldDisabledServices
		case "maintenance":
			g.Maintenance = y.position(k, v) == On
			given |= FieldMaintenance
		case "rooms":
			g.Rooms = y.rooms(k, v)
			given |= FieldRooms
		case "boards":
			g.Boards = y.boards(k, v)
			given |= FieldBoards
		case "tables":
			g.Tables = y.tables(k, v)
			given |= FieldTables
		case "policy":
			g.Policy = y.policy(v)
		default:
			bit, known := y.fact(&g.Facts, k, v)
			if !known {
				y.bad(k, "unknown key %q", shorten(key))
			}
			given |= bit
		}
	})
	g.Given = given &^ g.nonZero()
	return g, g.check(y.probs) && y.probs.total == before
}

// nameIn returns the name that the mapping n gives, in lower case, or "".
func nameIn(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" && n.Content[i+1].Kind == yaml.ScalarNode && !isNull(n.Content[i+1]) {
			return ascii.ToLower(n.Content[i+1].Value)
		}
	}
	return ""
}

func (y *yamlReader) policy(n *yaml.Node) (p Policy) {
	y.eachKey(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "strict_availability":
			p.StrictAvailability = y.position(k, v)
		case "no_secure":
			p.NoSecure = y.position(k, v)
		case "strict_legacy_validate":
			p.StrictLegacyValidate = y.position(k, v)
		case "second_login":
			p.SecondLogin = SecondLogin(y.text(k, v))
		case "auto_accept":
			p.AutoAccept = y.position(k, v)
		case "symmetric_delete":
			p.SymmetricDelete = y.position(k, v)
		case "no_user_id":
			p.NoUserID = y.position(k, v)
		case "a2s":
			p.A2S = y.position(k, v)
		case "no_relay":
			p.NoRelay = y.position(k, v)
		case "zero_stats":
			p.ZeroStats = y.position(k, v)
		default:
			y.bad(k, "policy: unknown key %q", shorten(key))
		}
	})
	return p
}

func (y *yamlReader) rooms(k, n *yaml.Node) (rooms []Room) {
	for _, item := range y.items(k, n) {
		var r Room
		y.eachKey(item, func(key string, k, v *yaml.Node) {
			switch key {
			case "id":
				r.ID = uint32(y.number(k, v, 0, 32))
			case "name":
				r.Name = y.text(k, v)
			case "max_waiting":
				r.MaxWaiting = int(y.number(k, v, 0, 31))
			case "fields":
				y.eachKey(v, func(key string, k, v *yaml.Node) {
					r.Fields = append(r.Fields, Field{Key: key, Value: y.text(k, v)})
				})
			default:
				y.bad(k, "room: unknown key %q", shorten(key))
			}
		})
		rooms = append(rooms, r)
	}
	return rooms
}

// boards reads leaderboards; the key of one is its name unless it has another.
func (y *yamlReader) boards(k, n *yaml.Node) (boards []Board) {
	for _, item := range y.items(k, n) {
		var b Board
		y.eachKey(item, func(key string, k, v *yaml.Node) {
			switch key {
			case "name":
				b.Name = y.text(k, v)
			case "title":
				b.Title = y.text(k, v)
			case "key":
				b.Key = y.text(k, v)
			case "how":
				b.How = BoardRule(y.text(k, v))
			default:
				y.bad(k, "board: unknown key %q", shorten(key))
			}
		})
		if b.Key == "" {
			b.Key = b.Name
		}
		boards = append(boards, b)
	}
	return boards
}

// secrets reads one secret or a list of them; an empty one means none.
func (y *yamlReader) secrets(k, n *yaml.Node) (secrets []string) {
	if n.Kind != yaml.SequenceNode {
		if s := y.text(k, n); s != "" {
			secrets = append(secrets, s)
		}
		return secrets
	}
	for _, item := range n.Content {
		secrets = append(secrets, y.text(k, item))
	}
	return secrets
}

func (y *yamlReader) items(k, n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		y.bad(n, "%s must be a list", k.Value)
		return nil
	}
	return n.Content
}

// text returns the value as written, whatever type YAML gives it: a secret like
// 0123e4 is not a number.
func (y *yamlReader) text(k, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		y.bad(n, "%s must be text", shorten(k.Value))
		return ""
	}
	return n.Value
}

// number reads a decimal number, or a hexadecimal one that starts with 0x.
func (y *yamlReader) number(k, n *yaml.Node, least uint64, bits int) uint64 {
	digits, base := y.text(k, n), 10
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = hex, 16
	}
	v, err := strconv.ParseUint(digits, base, bits)
	if err != nil || v < least {
		y.bad(n, "%s must be a number from %d to %d", k.Value, least, uint64(1)<<bits-1)
		return 0
	}
	return v
}

// position reads a switch; "inherit" is the same as no key at all.
func (y *yamlReader) position(k, n *yaml.Node) Switch {
	switch strings.ToLower(y.text(k, n)) {
	case "on", "true", "yes":
		return On
	case "off", "false", "no":
		return Off
	case "inherit":
		return Inherit
	}
	y.bad(n, "%s must be on or off", k.Value)
	return Inherit
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
