package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// EnvPrefix starts the name of every environment variable that is a key.
const EnvPrefix = "RESPAWND_"

// MaxMistakes is the maximum number of mistakes reported at once.
const MaxMistakes = 100

// Options are the sources of Load. All are optional.
type Options struct {
	// File is the path of a YAML file. Empty: there is none.
	File string

	// Env holds variables as NAME=value, like os.Environ. Names that do not
	// start with EnvPrefix are ignored. Of two entries for one name the last
	// counts.
	Env []string

	// Flags holds values by key, such as "data_dir". A hyphen in a key is read
	// as an underscore. Only flags that were given belong here: an empty value
	// counts as set.
	Flags map[string]string
}

// Load reads the defaults, the file, the environment and the flags into config,
// checks everything and returns warnings that an operator should see. Warnings
// are returned with an error, too. config is a pointer to a zero struct, see
// Keys. If it has a method Mistakes() []KeyError, that reports values that are
// valid alone but not together; their sources are filled in. If it has a method
// Warnings() []string, its result is added if there are no mistakes.
//
// If anything is wrong the error is an *Errors with one error for each mistake,
// and config must not be used. If the file cannot be opened the error wraps that
// of package os.
func Load(opt Options, config any) (warnings []string, err error) {
	l := newLoader(config)
	fileRead := l.readFile(opt.File)
	l.readEnv(opt.Env)
	l.readFlags(opt.Flags)
	l.decode()
	if fileRead { // otherwise half of the addresses are not known
		l.choose()
		l.checkCollisions()
		l.checkWhole()
	}
	if len(l.mistakes) > 0 {
		return l.warnings, &Errors{list: l.mistakes}
	}
	if c, ok := config.(interface{ Warnings() []string }); ok {
		l.warnings = append(l.warnings, c.Warnings()...)
	}
	return l.warnings, nil
}

// loader is one run of Load. Viper holds the layers: defaults, the file as its
// configuration, environment and flags as overrides. Viper does not read them
// itself: it knows only the environment of the process, treats an empty
// variable as unset unless that is changed for all, ignores unknown keys, folds
// their case, and does not keep the line of a value, which the messages name.
type loader struct {
	viper    *viper.Viper
	config   any
	keys     []Key
	known    map[string]Key      // by name
	source   map[string]string   // source of the value of a key, by name
	entries  map[string][]string // sources of its entries, by name
	warnings []string
	mistakes []error
}

func newLoader(config any) *loader {
	l := &loader{viper: viper.New(), config: config, known: map[string]Key{}, source: map[string]string{}, entries: map[string][]string{}}
	l.keys = Keys(config)
	for _, k := range l.keys {
		l.known[k.Name] = k
		l.viper.SetDefault(k.Name, k.Default)
	}
	return l
}

func (l *loader) mistake(name, value, problem, source string) {
	if l.known[name].secret {
		value = ""
	}
	l.fail(&KeyError{Key: name, Value: value, Problem: problem, Source: source})
}

// fail records a mistake. After MaxMistakes only one more is recorded, which
// reports that there are others.
func (l *loader) fail(err error) {
	switch {
	case len(l.mistakes) < MaxMistakes:
		l.mistakes = append(l.mistakes, err)
	case len(l.mistakes) == MaxMistakes:
		l.mistakes = append(l.mistakes, errors.New("there are more mistakes"))
	}
}

func (l *loader) full() bool { return len(l.mistakes) > MaxMistakes }

// isSection reports whether name is the first part of a key.
func (l *loader) isSection(name string) bool {
	for _, k := range l.keys {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}

// hint suggests a known key for an unknown one, as the end of a message.
func (l *loader) hint(name string) string {
	if section, isSwitch := strings.CutSuffix(name, ".enabled"); isSwitch {
		if _, found := l.known[section+".listen"]; found {
			return "; an empty " + section + ".listen turns the service off"
		}
	}
	candidates := make([]string, 0, 2*len(l.keys))
	for _, k := range l.keys {
		candidates = append(candidates, k.Name)
		if section, _, found := strings.Cut(k.Name, "."); found {
			candidates = append(candidates, section)
		}
	}
	return didYouMean(name, candidates)
}

// readFile reports whether the file could be read; true if there is none.
func (l *loader) readFile(file string) bool {
	if file == "" {
		return true
	}
	root, err := parseFile(file)
	if err != nil {
		l.fail(err)
		return false
	}
	if root != nil {
		l.readSection(file, "", root, map[string]int{})
	}
	return true
}

// fromFile overrides the default by a value, a string or a []string.
func (l *loader) fromFile(name string, value any, source string) {
	layer := map[string]any{name: value}
	if section, rest, found := strings.Cut(name, "."); found {
		layer = map[string]any{section: map[string]any{rest: value}}
	}
	if err := l.viper.MergeConfigMap(layer); err != nil {
		l.mistake(name, "", err.Error(), source)
		return
	}
	l.source[name] = source
}

func (l *loader) override(name, value, source string) {
	l.viper.Set(name, value)
	delete(l.entries, name)
	l.source[name] = source
}

func (l *loader) readEnv(env []string) {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		variable, _, _ := strings.Cut(entry, "=")
		return !strings.HasPrefix(strings.ToUpper(variable), EnvPrefix)
	})
	if len(env) == 0 {
		return
	}
	byVariable := make(map[string]string, len(l.keys))
	for _, k := range l.keys {
		byVariable[k.Variable()] = k.Name
	}
	variables := slices.Sorted(maps.Keys(byVariable))
	for _, entry := range env {
		variable, value, _ := strings.Cut(entry, "=")
		name, found := byVariable[variable]
		if !found {
			l.warnings = append(l.warnings, unknownVariable(variable, variables))
			continue
		}
		l.override(name, value, "environment variable "+variable)
	}
}

func unknownVariable(variable string, known []string) string {
	message := "environment variable " + variable + " is not a setting"
	if s := suggest(strings.ToUpper(variable), known); s != "" {
		message += "; did you mean " + s + "?"
	}
	return message
}

func (l *loader) readFlags(flags map[string]string) {
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		name, source := strings.ReplaceAll(flag, "-", "_"), "flag --"+flag
		if _, found := l.known[name]; !found {
			l.mistake(name, "", "is an unknown key"+l.hint(name), source)
			continue
		}
		l.override(name, flags[flag], source)
	}
}

// decode fills the configuration from viper.
func (l *loader) decode() {
	for _, k := range l.keys {
		values := texts(l.viper.Get(k.Name), k.List)
		if len(values) > MaxEntries {
			l.mistake(k.Name, "", fmt.Sprintf("has more than %d entries", MaxEntries), l.source[k.Name])
			continue
		}
		for _, text := range values {
			err := k.set(text)
			if several, ok := errors.AsType[mistakes](err); ok {
				for _, err := range several {
					l.mistake(k.Name, text, err.Error(), l.sourceOf(k.Name, err))
				}
			} else if err != nil {
				l.mistake(k.Name, text, err.Error(), l.source[k.Name])
			}
		}
		if k.Field.Tag.Get("required") == "true" && len(values) == 0 {
			l.mistake(k.Name, "", "must not be empty", l.source[k.Name])
		}
	}
}

// sourceOf returns the source of what is wrong with the value of a key: that of the entry, if it is known.
func (l *loader) sourceOf(name string, err error) string {
	at, ok := errors.AsType[entryMistake](err)
	if ok && at.entry <= len(l.entries[name]) {
		return l.entries[name][at.entry-1]
	}
	return l.source[name]
}

// texts returns a value as text: one for a plain key, any number for a list.
func texts(value any, list bool) []string {
	switch v := value.(type) {
	case []string:
		return v
	case []any:
		all := make([]string, len(v))
		for i := range v {
			all[i] = fmt.Sprint(v[i])
		}
		return all
	}
	text := ""
	if value != nil {
		text = fmt.Sprint(value)
	}
	switch {
	case !list:
		return []string{text}
	case strings.TrimSpace(text) == "":
		return nil
	default:
		return strings.Split(text, ",")
	}
}

// checkCollisions reports each address that collides with an earlier one.
func (l *loader) checkCollisions() {
	all := Listeners(l.config)
	for i, b := range all {
		for _, a := range all[:i] {
			if network := collides(a, b); network != "" {
				l.mistake(b.Key, b.Address, fmt.Sprintf("collides with %s, %q: only one of them can have this %s port",
					a.Key, a.Address, strings.ToUpper(network)), l.source[b.Key])
				break
			}
		}
	}
}

// checkWhole reports the errors of the configuration's own checks.
func (l *loader) checkWhole() {
	c, ok := l.config.(interface{ Mistakes() []KeyError })
	if !ok {
		return
	}
	for _, m := range c.Mistakes() {
		l.mistake(m.Key, m.Value, m.Problem, l.source[m.Key])
	}
}
