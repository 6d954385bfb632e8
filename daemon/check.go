package daemon

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/webhook"
)

// Check returns the mistakes in a configuration that can only be found on this
// machine, and those in the files that it names.
func Check(c Config, when service.Moment) error {
	s := newSettings(c)
	errs := []error{s.checkNames(), s.checkDataDir(), s.Storage.Check(), s.Cluster.Check(s.Storage.Shared()), s.checkServices(when), s.Mail.Check()}
	if _, err := operator.ReadGames(s.GamesFile); err != nil {
		errs = append(errs, err)
	}
	if _, err := webhook.Hooks(s.Webhooks); err != nil {
		errs = append(errs, err)
	}
	if s.GeoIPFile != "" {
		db, err := openGeoIP(s.GeoIPFile)
		if err == nil {
			err = db.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkNames rejects domains from which no host name can be built, if a service
// needs them.
func (s *settings) checkNames() error {
	if !s.resolves() {
		return nil
	}
	if _, err := s.names(new(games.Catalog)); err != nil {
		return fmt.Errorf("games.domains: %w", err)
	}
	return nil
}

// checkDataDir rejects a data folder that is not a folder. A missing one is
// created at the start.
func (s *settings) checkDataDir() error {
	if info, err := os.Stat(s.DataDir); err == nil && !info.IsDir() {
		return fmt.Errorf("data_dir: %s is not a folder", s.DataDir)
	}
	return nil
}

// checkServices returns the mistakes that the services find, including services
// that are off.
func (s *settings) checkServices(when service.Moment) error {
	var errs []error
	for _, e := range s.entries {
		if e.Check != nil {
			errs = append(errs, e.Check(s.DataDir, when))
		}
	}
	return errors.Join(errs...)
}

// checkStart returns the mistakes that enabled services find at a start.
func (s *settings) checkStart() error {
	on := settings{Shared: s.Shared, entries: slices.DeleteFunc(slices.Clone(s.entries), func(e Entry) bool { return !e.On })}
	return errors.Join(on.checkServices(service.AtStart), s.Mail.Check())
}

// Mistakes returns the single errors of a joined one. An error that adds text
// to those that it wraps is not divided.
func Mistakes(err error) []error {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return []error{err}
	}
	var texts []string
	var out []error
	for _, e := range joined.Unwrap() {
		texts = append(texts, e.Error())
		out = append(out, Mistakes(e)...)
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err}
	}
	return out
}

// Report logs every single mistake.
func Report(log zerolog.Logger, err error, msg string) {
	for _, e := range Mistakes(err) {
		log.Error().Err(e).Msg(msg)
	}
}

// Warn logs warnings about a configuration that was accepted.
func Warn(log zerolog.Logger, warnings []string) {
	for _, w := range warnings {
		log.Warn().Str("warning", w).Msg("configuration")
	}
}
