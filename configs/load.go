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

// maxMistakes is how many mistakes are reported at once.
const maxMistakes = 100

// Options says where Load looks. All of it is optional.
type Options struct {
	// File is the path of a YAML file. Empty: there is none.
	File string

	// Env holds variables as NAME=value, like os.Environ. Names that do not
	// start with EnvPrefix are passed over. Of two entries for one name the
	// last counts.
	Env []string

	// Flags holds values by key, such as "data_dir". A hyphen in a key is read
	// as an underscore. Only flags that were given belong here, for an empty
	// value counts as set.
	Flags map[string]string
}

// Load reads the defaults, the file, the environment and the flags, checks
// everything and returns the configuration and warnings that an operator should
// see. Warnings come with an error, too.
//
// If anything is wrong the configuration is nil and the error an *Errors with
// one error for each mistake. If the file cannot be opened it wraps the error of
// package os.
func Load(opt Options) (*Config, []string, error) {
	l := newLoader()
	fileRead := l.readFile(opt.File)
	l.readEnv(opt.Env)
	l.readFlags(opt.Flags)
	l.decode()
	if fileRead { // otherwise half of the addresses are not known
		l.checkCollisions()
		l.checkAdvertised()
	}
	if len(l.mistakes) > 0 {
		return nil, l.warnings, &Errors{list: l.mistakes}
	}
	l.warn()
	return l.config, l.warnings, nil
}

// loader is one run of Load. Viper holds the layers: defaults, the file as its
// configuration, environment and flags as overrides.
type loader struct {
	viper    *viper.Viper
	config   *Config
	keys     []key
	known    map[string]key    // by name
	source   map[string]string // where the value of a key comes from, by name
	warnings []string
	mistakes []error
}

func newLoader() *loader {
	l := &loader{viper: viper.New(), config: new(Config), known: map[string]key{}, source: map[string]string{}}
	l.keys = l.config.keys()
	for _, k := range l.keys {
		l.known[k.name] = k
		l.viper.SetDefault(k.name, k.initial)
	}
	return l
}

func (l *loader) mistake(name, value, problem, source string) {
	if l.known[name].secret {
		value = ""
	}
	l.fail(&KeyError{Key: name, Value: value, Problem: problem, Source: source})
}

// fail notes a mistake. After maxMistakes only one more is noted, which says
// that there are others.
func (l *loader) fail(err error) {
	switch {
	case len(l.mistakes) < maxMistakes:
		l.mistakes = append(l.mistakes, err)
	case len(l.mistakes) == maxMistakes:
		l.mistakes = append(l.mistakes, errors.New("there are more mistakes"))
	}
}

func (l *loader) full() bool { return len(l.mistakes) > maxMistakes }

// isSection tells whether name is the first part of a key.
func (l *loader) isSection(name string) bool {
	for _, k := range l.keys {
		if strings.HasPrefix(k.name, name+".") {
			return true
		}
	}
	return false
}

// hint returns what an unknown key was probably meant to be, as the end of a
// message.
func (l *loader) hint(name string) string {
	if section, isSwitch := strings.CutSuffix(name, ".enabled"); isSwitch {
		if _, found := l.known[section+".listen"]; found {
			return "; an empty " + section + ".listen turns the service off"
		}
	}
	candidates := make([]string, 0, 2*len(l.keys))
	for _, k := range l.keys {
		candidates = append(candidates, k.name)
		if section, _, found := strings.Cut(k.name, "."); found {
			candidates = append(candidates, section)
		}
	}
	return didYouMean(name, candidates)
}

// readFile tells whether the file could be read; no file can.
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

// fromFile puts a value, a string or a []string, over the default.
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

// override puts a value over the file.
func (l *loader) override(name, value, source string) {
	l.viper.Set(name, value)
	l.source[name] = source
}

func (l *loader) readEnv(env []string) {
	byVariable := make(map[string]string, len(l.keys))
	for _, k := range l.keys {
		byVariable[k.variable()] = k.name
	}
	variables := slices.Sorted(maps.Keys(byVariable))
	for _, entry := range env {
		variable, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(strings.ToUpper(variable), EnvPrefix) {
			continue
		}
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
		values := texts(l.viper.Get(k.name), k.list)
		if len(values) > maxEntries {
			l.mistake(k.name, "", fmt.Sprintf("has more than %d entries", maxEntries), l.source[k.name])
			continue
		}
		for _, text := range values {
			err := k.set(text)
			if several, ok := errors.AsType[mistakes](err); ok {
				for _, err := range several {
					l.mistake(k.name, text, err.Error(), l.source[k.name])
				}
			} else if err != nil {
				l.mistake(k.name, text, err.Error(), l.source[k.name])
			}
		}
		if k.name == "games.domains" && len(values) == 0 {
			l.mistake(k.name, "", "must not be empty", l.source[k.name])
		}
	}
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
