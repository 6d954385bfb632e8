#!/bin/ash
# Unpacks the program of an archive of a release into the server's folder, and writes its settings once.
set -e
cd /mnt/server
if [ -z "${ARCHIVE_URL}" ]; then
  echo "Set the variable Archive to the address of respawnd-VERSION-linux-amd64.tar.gz, and install again."
  exit 1
fi
curl -fsSL -o archive.tar.gz "${ARCHIVE_URL}"
[ -z "${ARCHIVE_SHA256}" ] || echo "${ARCHIVE_SHA256}  archive.tar.gz" | sha256sum -c -
rm -rf unpacked
mkdir unpacked
tar -xzf archive.tar.gz --strip-components 1 -C unpacked
mv -f unpacked/respawnd respawnd
rm -rf unpacked archive.tar.gz
if [ ! -e respawnd.yaml ]; then
  printf 'data_dir: data\nweb:\n  listen: ":8080"\n' >respawnd.yaml
fi
