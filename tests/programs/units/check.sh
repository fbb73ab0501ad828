#!/bin/bash
# Runs in a guest under systemd: both units as they are installed, their users, reload, limits, and
# restart after kill -9. Arguments: the repository, its Python environment, the base of that Python.
# Prints `name: value` for each fact, and the journal of both units.
set -euo pipefail
repository=$1 environment=$2 base=$3

# The interpreter may be in a home, which is closed to the units: it is put elsewhere, where its
# library is not found by the path that it was built with.
mkdir -p /opt/python && mount --bind "$base" /opt/python
ln -sf /opt/python/bin/python3 "$environment/bin/python"
sed -i 's|^home = .*|home = /opt/python/bin|' "$environment/pyvenv.cfg"
cat > /usr/local/bin/sesame << END
#!/bin/sh
export LD_LIBRARY_PATH=/opt/python/lib
exec $environment/bin/python -m sesame "\$@"
END
printf '#!/bin/sh\nexec sesame measure daemon "$@"\n' > /usr/local/bin/sesamed
chmod 755 /usr/local/bin/sesame /usr/local/bin/sesamed

units="sesamed sesame-collector"
for unit in $units; do
  cp "$repository/control/$unit.service" /etc/systemd/system/
  # An emulated processor is twenty times slower.
  mkdir -p /etc/systemd/system/$unit.service.d
  printf '[Service]\nTimeoutStartSec=900\n' > /etc/systemd/system/$unit.service.d/slow.conf
done
systemd-sysusers "$repository"/control/sesame.sysusers "$repository"/control/sesame-collector.sysusers
mkdir -p /etc/sesame
printf 'interval = 1\n[levels]\nall = "summary"\n' > /etc/sesame/sesamed.toml
printf 'output = "/var/lib/sesame-collector/measured"\nlisten = "127.0.0.1:7118"\n' > /etc/sesame/collector.toml
systemctl daemon-reload

status_of() { # status_of NAME COMMAND: prints the exit status of the command
  local name=$1 status=0
  shift
  "$@" || status=$?
  echo "$name: $status"
}
property() { systemctl show --property "$2" --value "$1"; }
wait_for() { # wait_for COMMAND: until it succeeds
  for _ in $(seq 1500); do "$@" > /dev/null 2>&1 && return 0; sleep 0.2; done
  return 1
}
reports() { journalctl -u "$1" -o cat | grep "$2" > /dev/null; }
is_again() { [ "$(property "$1" NRestarts)" = 1 ] && [ "$(property "$1" SubState)" = running ]; }
user_of() { ps -o user:32= -p "$(property "$1" MainPID)" | tr -d ' '; }
ask() { curl -sf -H "Authorization: Bearer $(cat /var/lib/sesame/token)" "http://127.0.0.1:7117$1"; }
sesamed_change() { sed -i 's/^interval = 1/interval = 2/' /etc/sesame/sesamed.toml; }
sesame-collector_change() { echo 'keep = "1d"' >> /etc/sesame/collector.toml; }
# As root in the unit's mounts: what stops it is the sandbox.
write_in() { nsenter -t "$(property "$1" MainPID)" -m sh -c "echo x > $2/by-unit" 2> /dev/null; }

for unit in $units; do
  # Debian's level; at it page faults cannot be measured.
  if [ $unit = sesamed ]; then sysctl -wq kernel.perf_event_paranoid=3; fi
  status_of "$unit start" systemctl start $unit
  pid=$(property $unit MainPID)
  echo "$unit user: $(user_of $unit)"
  grep -E '^(CapPrm|CapBnd|NoNewPrivs|Seccomp|VmRSS):' "/proc/$pid/status" | sed "s/^/$unit /"
  group=/sys/fs/cgroup$(property $unit ControlGroup)
  for limit in memory.max cpu.max pids.max; do echo "$unit $limit: $(cat $group/$limit)"; done
  echo "$unit files: $(awk '/Max open files/ {print $5}' "/proc/$pid/limits")"
  ${unit}_change
  status_of "$unit reload" systemctl reload $unit
  status_of "$unit read again" wait_for reports $unit 'read again'
  if [ $unit = sesamed ]; then sysctl -wq kernel.perf_event_paranoid=2; fi
  kill -9 "$pid"
  status_of "$unit again" wait_for is_again $unit
  echo "$unit user again: $(user_of $unit)"
  for directory in /etc /usr /var/lib; do
    status_of "$unit writes $directory" write_in $unit $directory
  done
  status_of "$unit writes its own" write_in $unit /var/lib/${unit/sesamed/sesame}
done
status_of "sesamed says why not" reports sesamed 'vm.total .* kernel.perf_event_paranoid is 3'
status_of "sesamed answers" wait_for ask /v1/state
ask /v1/state > /run/state
echo "sesamed has points: $(grep -o '"missing":null' /run/state | wc -l)"
echo "sesamed is without: $(grep -o '"missing":"[^"]*"' /run/state | sort -u | tr '\n' ' ')"
for unit in $units; do
  status_of "$unit stop" systemctl stop $unit
  echo "$unit stopped: $(property $unit Result)"
done
echo 'wrong = 1' >> /etc/sesame/collector.toml
status_of "collector with a wrong setting" systemctl start sesame-collector
sleep 6; echo "restarts then: $(property sesame-collector NRestarts)"
journalctl -u sesamed -u sesame-collector -o cat | sed 's/^/journal: /'
