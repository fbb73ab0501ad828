! Bodies that attract each other: direct sum over all pairs, leapfrog steps. Every rank moves its
! share of the bodies; positions of all are gathered in each step. Sums go over the bodies in their
! order, so that the answer is the same on any number of ranks, bit for bit.
module bodies
  use, intrinsic :: iso_c_binding, only: c_int, c_double
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  use kit
  implicit none
  private
  public :: declare_options, body

  integer, parameter :: dp = c_double
  real(dp), parameter :: pi = acos(-1.0_dp)
  real(dp), parameter :: orbit_eccentricity = 0.5_dp
  integer, parameter :: orbit_steps = 2000, start_of_random = 271828183
  ! Tolerances. Energy: the error of the method at this step. Momentum: rounding errors only.
  real(dp), parameter :: energy_tolerance = 1e-4_dp, momentum_tolerance = 1e-12_dp
  real(dp), parameter :: orbit_tolerance = 1e-3_dp, order_tolerance = 0.02_dp

  integer(c_int), target, save :: count = 1024, steps = 20, every = 5
  real(c_double), target, save :: step = 0.005_dp, softening = 0.05_dp

  type system
    real(dp), allocatable :: x(:, :)      ! of all bodies
    real(dp), allocatable :: v(:, :)      ! of this rank's, first to last
    real(dp), allocatable :: a(:, :), potential(:)
    real(dp), allocatable :: mass(:)
    real(dp) :: softening2
    integer :: first, last
    integer, allocatable :: counts(:), begins(:)  ! of numbers, three for each body, by rank
  end type

contains

  subroutine declare_options()
    call kit_option('--bodies', count, 'how many bodies')
    call kit_option('--steps', steps, 'how many steps')
    call kit_option('--step', step, 'length of a step')
    call kit_option('--softening', softening, 'length below which forces grow no more')
    call kit_option('--every', every, 'steps between lines of statistics')
    call kit_text_option('--statistics', 'file for the statistics; else a scratch file')
  end subroutine

  subroutine body() bind(c)
    type(system) :: all
    real(dp) :: begin, seconds, longest, energy0, energy, momentum(3)
    real(dp), allocatable :: history(:, :)
    integer :: unit, i, lines
    if (.not. options_are_right()) return
    call share_out(all, int(count))
    call plummer_sphere(all)
    if (.not. opened(unit)) return
    allocate (history(3, 0:steps/every))
    call accelerate(all)
    call measure(all, energy0, momentum)
    lines = 0
    call MPI_Barrier(MPI_COMM_WORLD)
    begin = MPI_Wtime()
    do i = 0, steps
      if (i > 0) call advance(all, step)
      if (mod(i, every) /= 0) cycle
      call measure(all, energy, momentum)
      history(:, lines) = [i*step, energy, norm2(momentum)]
      if (unit /= 0) write (unit, '(i8, 5es24.15)') i, history(:2, lines), momentum
      lines = lines + 1
    end do
    seconds = MPI_Wtime() - begin
    call MPI_Allreduce(seconds, longest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    call measure(all, energy, momentum)
    call kit_time(longest)
    call report_run(longest, energy0, energy, momentum)
    call kit_column('energy', 'time', '1', history(1, :))
    call kit_column('energy', 'energy', '1', history(2, :))
    call kit_column('energy', 'momentum', '1', history(3, :))
    call check_statistics(unit, lines)
    call check_orbit()
  end subroutine

  logical function options_are_right()
    options_are_right = .false.
    if (count < 2 .or. count > 1000000) then
      call kit_refuse('--bodies takes 2 to 1000000')
    else if (steps < 1 .or. every < 1) then
      call kit_refuse('--steps and --every take numbers above 0')
    else if (.not. (step > 0 .and. softening > 0)) then
      call kit_refuse('--step and --softening take numbers above 0')
    else
      options_are_right = .true.
    end if
  end function

  subroutine report_run(seconds, energy0, energy, momentum)
    real(dp), intent(in) :: seconds, energy0, energy, momentum(3)
    real(dp) :: interactions
    interactions = real(count, dp)*(count - 1)*steps
    call kit_parameter('bodies', real(count, dp))
    call kit_parameter('steps', real(steps, dp))
    call kit_parameter('step', step)
    call kit_parameter('softening', softening)
    call kit_figure('interactions', interactions, '1')
    if (seconds > 0) call kit_figure('rate', interactions/seconds*1e-6_dp, 'Mop/s')
    call kit_figure('energy', energy, '1')
    call kit_check('energy', energy, energy0, energy_tolerance)
    call kit_check('momentum', norm2(momentum), 0.0_dp, momentum_tolerance)
  end subroutine

  ! Shares as equal as can be, the larger ones first.
  subroutine share_out(all, n)
    type(system), intent(inout) :: all
    integer, intent(in) :: n
    integer :: rank, ranks, i, share
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    allocate (all%counts(ranks), all%begins(ranks))
    share = 0
    do i = 1, ranks
      all%begins(i) = 3*share
      all%counts(i) = 3*(n/ranks + merge(1, 0, i <= mod(n, ranks)))
      share = share + all%counts(i)/3
    end do
    all%first = all%begins(rank + 1)/3 + 1
    all%last = all%first + all%counts(rank + 1)/3 - 1
    call allocate_bodies(all, n)
    all%softening2 = softening**2
  end subroutine

  subroutine allocate_bodies(all, n)
    type(system), intent(inout) :: all
    integer, intent(in) :: n
    allocate (all%x(3, n), all%mass(n))
    allocate (all%v(3, all%first:all%last), all%a(3, all%first:all%last))
    allocate (all%potential(all%first:all%last))
  end subroutine

  ! S. Aarseth, M. Henon and R. Wielen: A comparison of numerical methods for the study of star
  ! cluster dynamics, 1974. All ranks draw all bodies and keep the velocities of theirs.
  subroutine plummer_sphere(all)
    type(system), intent(inout) :: all
    real(dp), allocatable :: draws(:, :), v(:, :)
    real(dp) :: radius, speed
    integer :: i, n, k
    n = size(all%mass)
    allocate (draws(6, n), v(3, n))
    call draw(draws)
    do i = 1, n
      radius = 1/sqrt((0.999_dp*draws(1, i))**(-2/3.0_dp) - 1)
      speed = speed_share(draws(4, i))*sqrt(2.0_dp)*(1 + radius**2)**(-0.25_dp)
      all%x(:, i) = radius*direction(draws(2, i), draws(3, i))
      v(:, i) = speed*direction(draws(5, i), draws(6, i))
    end do
    all%mass = 1.0_dp/n
    do k = 1, 3
      all%x(k, :) = all%x(k, :) - sum(all%x(k, :))/n
      v(k, :) = v(k, :) - sum(v(k, :))/n
    end do
    all%v = v(:, all%first:all%last)
  end subroutine

  subroutine draw(draws)
    real(dp), intent(out), contiguous, target :: draws(:, :)
    real(dp), pointer :: flat(:)
    flat(1:size(draws)) => draws
    call kit_random(start_of_random, flat)
  end subroutine

  ! The share q of the escape velocity with density q**2 (1 - q**2)**3.5, by bisection of its
  ! integral; Simpson's rule is exact enough for a start.
  real(dp) function speed_share(u)
    real(dp), intent(in) :: u
    real(dp) :: low, high
    integer :: i
    low = 0
    high = 1
    do i = 1, 30
      speed_share = (low + high)/2
      if (integral(speed_share) < u*integral(1.0_dp)) then
        low = speed_share
      else
        high = speed_share
      end if
    end do
  end function

  pure real(dp) function integral(q)
    real(dp), intent(in) :: q
    integer, parameter :: intervals = 32
    real(dp) :: h, at
    integer :: i
    h = q/intervals
    integral = 0
    do i = 0, intervals
      at = i*h
      integral = integral + h/3*merge(1, merge(4, 2, mod(i, 2) == 1), i == 0 .or. i == intervals) &
                 *at**2*max(0.0_dp, 1 - at**2)**3.5_dp
    end do
  end function

  pure function direction(u, w)
    real(dp), intent(in) :: u, w
    real(dp) :: direction(3), z
    z = 2*u - 1
    direction = [sqrt(1 - z**2)*cos(2*pi*w), sqrt(1 - z**2)*sin(2*pi*w), z]
  end function

  subroutine accelerate(all)
    type(system), intent(inout) :: all
    real(dp) :: a(3), r(3), potential, inverse
    integer :: i, j
    do i = all%first, all%last
      a = 0
      potential = 0
      do j = 1, size(all%mass)
        if (j == i) cycle
        r = all%x(:, j) - all%x(:, i)
        inverse = 1/sqrt(sum(r**2) + all%softening2)
        potential = potential - all%mass(j)*inverse
        a = a + all%mass(j)*inverse**3*r
      end do
      all%a(:, i) = a
      all%potential(i) = potential
    end do
  end subroutine

  subroutine advance(all, dt)
    type(system), intent(inout) :: all
    real(dp), intent(in) :: dt
    all%v = all%v + dt/2*all%a
    all%x(:, all%first:all%last) = all%x(:, all%first:all%last) + dt*all%v
    call gather(all, all%x)
    call accelerate(all)
    all%v = all%v + dt/2*all%a
  end subroutine

  ! Fills in the columns of other ranks. A copy of this rank's is sent: the buffers must differ.
  subroutine gather(all, columns)
    type(system), intent(in) :: all
    real(dp), intent(inout), contiguous :: columns(:, :)
    real(dp), allocatable :: mine(:, :)
    if (size(all%counts) == 1) return
    mine = columns(:, all%first:all%last)
    call MPI_Allgatherv(mine, size(mine), MPI_DOUBLE_PRECISION, columns, all%counts, all%begins, &
                        MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
  end subroutine

  subroutine measure(all, energy, momentum)
    type(system), intent(in) :: all
    real(dp), intent(out) :: energy, momentum(3)
    real(dp), allocatable :: v(:, :), potential(:, :)
    integer :: i
    allocate (v(3, size(all%mass)), potential(3, size(all%mass)))
    v(:, all%first:all%last) = all%v
    potential = 0
    potential(1, all%first:all%last) = all%potential
    call gather(all, v)
    call gather(all, potential)
    energy = 0
    momentum = 0
    do i = 1, size(all%mass)
      energy = energy + all%mass(i)*(sum(v(:, i)**2) + potential(1, i))/2
      momentum = momentum + all%mass(i)*v(:, i)
    end do
  end subroutine

  ! Rank 0 writes. False, on all ranks, if the file cannot be written.
  logical function opened(unit)
    integer, intent(out) :: unit
    character(:), allocatable :: name
    character(256) :: reason
    integer :: rank, status
    name = kit_text('--statistics')
    reason = ''
    status = 0
    unit = 0
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0 .and. name == '') then
      open (newunit=unit, status='scratch', iostat=status, iomsg=reason)
    else if (rank == 0) then
      open (newunit=unit, file=name, status='replace', iostat=status, iomsg=reason)
    end if
    call MPI_Bcast(status, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(reason, len(reason), MPI_CHARACTER, 0, MPI_COMM_WORLD)
    opened = status == 0
    if (.not. opened) call kit_refuse('--statistics '//name//': cannot write: '//trim(reason))
  end function

  ! Reads the file again: are all lines there?
  subroutine check_statistics(unit, lines)
    integer, intent(in) :: unit, lines
    integer :: found, status
    if (unit == 0) return
    rewind (unit)
    found = 0
    do
      read (unit, '(a)', iostat=status)
      if (status /= 0) exit
      found = found + 1
    end do
    close (unit)
    call kit_check('lines of statistics', real(found, dp), real(lines, dp), 0.0_dp)
  end subroutine

  ! Two bodies on an ellipse against Kepler's solution after a period and a quarter; half the step,
  ! a quarter of the error.
  subroutine check_orbit()
    real(dp) :: coarse, fine
    coarse = orbit_error(orbit_steps)
    fine = orbit_error(2*orbit_steps)
    call kit_figure('error of the orbit', coarse, '1')
    call kit_check('error of the orbit', coarse, 0.0_dp, orbit_tolerance)
    call kit_check('order of the method', log(coarse/fine)/log(2.0_dp), 2.0_dp, order_tolerance)
  end subroutine

  ! Every rank for itself: masses 1/2, semi-major axis 1, period 2 pi.
  real(dp) function orbit_error(orbit_count)
    integer, intent(in) :: orbit_count
    type(system) :: pair
    real(dp) :: e, time, anomaly, exact(3)
    integer :: i
    e = orbit_eccentricity
    pair%first = 1
    pair%last = 2
    allocate (pair%counts(1), pair%begins(1))
    call allocate_bodies(pair, 2)
    pair%softening2 = 0
    pair%mass = 0.5_dp
    pair%x(:, 1) = [(1 - e)/2, 0.0_dp, 0.0_dp]
    pair%v(:, 1) = [0.0_dp, sqrt((1 + e)/(1 - e))/2, 0.0_dp]
    pair%x(:, 2) = -pair%x(:, 1)
    pair%v(:, 2) = -pair%v(:, 1)
    time = 2.5_dp*pi
    call accelerate(pair)
    do i = 1, orbit_count
      call advance(pair, time/orbit_count)
    end do
    anomaly = time
    do i = 1, 50
      anomaly = anomaly - (anomaly - e*sin(anomaly) - time)/(1 - e*cos(anomaly))
    end do
    exact = [cos(anomaly) - e, sqrt(1 - e**2)*sin(anomaly), 0.0_dp]
    orbit_error = norm2(pair%x(:, 1) - pair%x(:, 2) - exact)
  end function

end module bodies

program nbody
  use kit, only: kit_start, kit_run
  use bodies, only: declare_options, body
  implicit none
  call kit_start('nbody', 'bodies that attract each other, in Fortran')
  call declare_options()
  call kit_run(body)
end program nbody
