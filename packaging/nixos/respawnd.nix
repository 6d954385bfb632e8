# A module of NixOS for the program beside it. Unpack the archive of the release for Linux
# into /etc/nixos/respawnd, and in configuration.nix:
#
#   imports = [ ./respawnd/respawnd.nix ];
#   services.respawnd = {
#     enable = true;
#     settings.web.public_url = "https://servers.example.org";
#   };
#
# settings are the keys of `respawnd config`. Everyone on the machine can read them: put
# passwords into files and name those.
{ config, lib, pkgs, ... }:
let
  cfg = config.services.respawnd;
  settings = (pkgs.formats.yaml { }).generate "respawnd.yaml" ({ data_dir = "/var/lib/respawnd"; } // cfg.settings);
  package = pkgs.runCommand "respawnd" { } ''
    install -D ${./respawnd} $out/bin/respawnd
    install -D -m 644 -t $out/share/man/man1 ${./manual}/man1/*
    mkdir -p $out/lib/systemd/system
    substitute ${./respawnd.service} $out/lib/systemd/system/respawnd.service \
      --replace-fail /usr/bin/respawnd $out/bin/respawnd \
      --replace-fail /bin/kill ${pkgs.coreutils}/bin/kill
  '';
in
{
  options.services.respawnd = {
    enable = lib.mkEnableOption "respawnd, master server and services for older games";
    settings = lib.mkOption {
      type = (pkgs.formats.yaml { }).type;
      default = { };
      description = "Settings of the daemon, the keys of `respawnd config`. A change of games, bans or limits restarts it too.";
    };
  };
  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ package ];
    environment.etc."respawnd/respawnd.yaml".source = settings;
    systemd.packages = [ package ];
    systemd.services.respawnd = {
      wantedBy = [ "multi-user.target" ];
      restartTriggers = [ settings ];
    };
  };
}
