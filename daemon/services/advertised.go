package services

import (
	"slices"
	"strings"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/federation"
)

// Mistakes reports networks that are advertised in two ways, services in the list without those
// that they need, and other masters that cannot be distinguished.
func (c *Config) Mistakes() []configs.KeyError {
	var mistakes []configs.KeyError
	for i, a := range c.Net.AdvertiseAs {
		if slices.ContainsFunc(c.Net.AdvertiseAs[:i], func(b configs.Advertised) bool { return a.From == b.From }) {
			mistakes = append(mistakes, configs.KeyError{
				Key: "net.advertise_as", Value: a.String(), Problem: "gives the same servers a second address",
			})
		}
	}
	all := daemon.List(c)
	for _, e := range all {
		if lacking := daemon.Lacking(e, all); slices.Contains(c.Services, e.Name) && len(lacking) > 0 {
			mistakes = append(mistakes, configs.KeyError{Key: configs.ServicesKey, Value: e.Name, Problem: "needs " + strings.Join(lacking, " and ") + ", which is off"})
		}
	}
	return append(mistakes, federation.Mistakes(c.Federation.Masters)...)
}

// Advertised returns net.advertise_as. If that is empty, zanmaster.advertise_as
// is used in its place.
func (c *Config) Advertised() []configs.Advertised {
	if len(c.Net.AdvertiseAs) == 0 && c.ZanMaster.AdvertiseAs.IsValid() {
		return []configs.Advertised{{As: c.ZanMaster.AdvertiseAs}}
	}
	return c.Net.AdvertiseAs
}
