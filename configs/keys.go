package configs

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30

	// MaxEntries is the maximum number of entries of a list value.
	MaxEntries = 256
)

// Key is a setting: a field of a configuration or of one of its sections, with
// the data of its tags.
//
//	key      the name, without that of the section
//	default  the value as an operator would write it; missing: empty
//	range    the least and the greatest value, as "1 to 64" or "1s to 5m"
//	words    the values that are allowed, separated by commas
//	as       how to parse a text, if its type leaves that open: see textParser
//	listen   the address of a service: its network, udp, tcp or udp+tcp, and the
//	         port that clients expect
//	live     "true": a reload applies it
//	secret   "true": the value is not repeated in messages
//
//	required "true": a list must not be empty
//
// The comment of the field is the comment of the key in default.yaml. In it,
// {range} and {words} stand for those tags.
type Key struct {
	Name    string // "qr2.listen"
	Field   reflect.StructField
	Section reflect.Type // the struct that Field belongs to
	Default string       // in the form of the environment
	Allowed string       // the range or the words, as default.yaml states it; may be empty
	List    bool         // several values
	Nested  bool         // one value, which is YAML
	Live    bool         // a reload applies it

	secret bool
	path   []int         // of the field, from the configuration
	value  reflect.Value // settable

	parse func(text string) (any, error)
}

// Variable returns the name of the environment variable of k.
func (k Key) Variable() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// set parses text and stores it in the field. For a list it is called once per
// entry and appends. After an error the field is unchanged.
func (k Key) set(text string) error {
	value, err := k.parse(text)
	switch {
	case err != nil:
		return err
	case k.List:
		k.value.Set(reflect.Append(k.value, reflect.ValueOf(value)))
	default:
		k.value.Set(reflect.ValueOf(value))
	}
	return nil
}

// Keys returns every key of a configuration, in the order of its fields. config
// is a pointer to a struct whose fields have the tag key: a struct is a section,
// everything else a key. The fields of an embedded struct without the tag count as
// its own. Keys panics if the tags of a field do not fit its type.
func Keys(config any) []Key {
	root := reflect.ValueOf(config).Elem()
	keys := slices.Clone(keysOf(root.Type()))
	for i := range keys {
		keys[i].value = root.FieldByIndex(keys[i].path)
	}
	return keys
}

// Defaults sets every key of a zero configuration, or of a zero section, to its
// default. It panics if the tag default of a field does not fit its type.
func Defaults(config any) {
	for _, k := range Keys(config) {
		for _, text := range texts(k.Default, k.List) {
			if err := k.set(text); err != nil {
				panic(fmt.Sprintf("configs: default of %s: %v", k.Name, err))
			}
		}
	}
}

// Int returns the value of a key that is a number; ok is false if there is no such
// key.
func Int(config any, name string) (value int, ok bool) {
	root := reflect.ValueOf(config).Elem()
	for _, k := range keysOf(root.Type()) {
		if k.Name == name && k.Field.Type.Kind() == reflect.Int {
			return int(root.FieldByIndex(k.path).Int()), true
		}
	}
	return 0, false
}

// keysByType has the keys of each type of configuration, without values. Reading all
// tags takes longer than anything else that a start does with keys.
var keysByType sync.Map // of []Key, by reflect.Type

// keysOf returns the keys of a type of configuration, without values. The slice is
// shared.
func keysOf(t reflect.Type) []Key {
	if keys, ok := keysByType.Load(t); ok {
		return keys.([]Key)
	}
	keys, _ := keysByType.LoadOrStore(t, readKeys("", nil, t))
	return keys.([]Key)
}

// readKeys reads the keys of a section. The prefix is empty or ends with a dot; path
// is that of the section.
func readKeys(prefix string, path []int, section reflect.Type) []Key {
	var all []Key
	for _, f := range fields(section) {
		name, path := prefix+f.Tag.Get("key"), slices.Concat(path, f.Index)
		if IsSection(f) {
			all = append(all, readKeys(name+".", path, f.Type)...)
			continue
		}
		k := newKey(name, f)
		k.Section, k.path = section, path
		all = append(all, k)
	}
	return all
}

// IsSection reports whether a field of a configuration holds keys and is not a
// key itself.
func IsSection(f reflect.StructField) bool {
	return f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[netip.Addr]()
}

func newKey(name string, f reflect.StructField) Key {
	k := Key{
		Name: name, Field: f, Default: f.Tag.Get("default"), Live: f.Tag.Get("live") == "true",
		secret: f.Tag.Get("secret") == "true",
	}
	t := f.Type
	switch {
	case t == reflect.TypeFor[[]Webhook]():
		k.Nested, k.secret = true, true // parts of it may be secrets
	case isEntries(t):
		k.Nested, k.secret = true, true // too long for a message
	case t.Kind() == reflect.Slice:
		k.List, t = true, t.Elem()
	}
	k.Allowed, k.parse = parserOf(t, f.Tag)
	return k
}

// parserOf returns the parser of a type, and a description of the allowed
// values. It panics if the tags do not fit the type.
func parserOf(t reflect.Type, tag reflect.StructTag) (allowed string, parse func(string) (any, error)) {
	low, high, _ := strings.Cut(tag.Get("range"), " to ")
	if isEntries(t) {
		return "", func(text string) (any, error) { return parseEntries(t, text) }
	}
	switch t {
	case reflect.TypeFor[bool]():
		return "true or false", erase(parseToggle)
	case reflect.TypeFor[int]():
		return tag.Get("range"), intParser(low, high)
	case reflect.TypeFor[time.Duration]():
		least, most := must(time.ParseDuration(low)), must(time.ParseDuration(high))
		return tag.Get("range"), func(text string) (any, error) { return parseDuration(text, least, most) }
	case reflect.TypeFor[netip.Prefix]():
		return "", erase(parsePrefix)
	case reflect.TypeFor[netip.AddrPort]():
		return "", erase(parseUpstream)
	case reflect.TypeFor[netip.Addr]():
		return "", erase(parseAdvertised)
	case reflect.TypeFor[Advertised]():
		return "", erase(parseAdvertisedAs)
	case reflect.TypeFor[StaticServer]():
		return "", erase(parseStatic)
	case reflect.TypeFor[OtherMaster]():
		return "", erase(ParseOtherMaster)
	case reflect.TypeFor[[]Webhook]():
		return "", erase(parseWebhooks)
	case reflect.TypeFor[string]():
		return tag.Get("words"), textParser(tag)
	}
	panic(fmt.Sprintf("configs: no way to read a %v", t))
}

// intParser parses sizes if the range is one of sizes, else plain numbers.
func intParser(low, high string) func(string) (any, error) {
	const most = 1 << 40
	least, greatest := must(parseSize(low, 0, most)), must(parseSize(high, 0, most))
	if strings.HasSuffix(high, "iB") {
		return func(text string) (any, error) { return parseSize(text, least, greatest) }
	}
	return func(text string) (any, error) { return parseNumber(text, least, greatest) }
}

func textParser(tag reflect.StructTag) func(string) (any, error) {
	if words := tag.Get("words"); words != "" {
		return func(text string) (any, error) { return parseChoice(text, strings.Split(words, ", ")) }
	}
	if tag.Get("listen") != "" {
		return erase(parseListen)
	}
	switch as := tag.Get("as"); as {
	case "text":
		return erase(parseText)
	case "line":
		return erase(parseLine)
	case "paragraph":
		return erase(parseParagraph)
	case "dir":
		return erase(parseDir)
	case "listen":
		return erase(parseListen)
	case "extralisten":
		return erase(parseExtraListen)
	case "password":
		return erase(parsePassword)
	case "publicurl":
		return erase(parsePublicURL)
	case "smtpurl":
		return erase(parseSMTPURL)
	case "postgresurl":
		return erase(parsePostgresURL)
	case "sender":
		return erase(parseSender)
	case "domain":
		return erase(parseDomain)
	case "ports":
		return erase(parsePorts)
	case "name":
		return erase(parseName)
	default:
		panic(fmt.Sprintf("configs: no way to read a text as %q", as))
	}
}

// erase hides the type of a function's result.
func erase[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(text string) (any, error) { return parse(text) }
}

// must returns v, which a tag holds. Tags are part of the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic("configs: bad tag: " + err.Error())
	}
	return v
}
