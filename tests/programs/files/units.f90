! Files by Fortran units: formatted, unformatted, direct access and streams.
program units
  use mpi
  implicit none
  integer :: rank, error, i, value, length, state
  double precision :: numbers(1000), back(1000)
  character(len=40) :: name
  character(len=80) :: line
  logical :: is_there
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 1000
    numbers(i) = i * 0.5d0 + rank
  end do
  write (name, '(a,i0)') 'formatted-', rank
  open (10, file=name, status='new', action='write')
  do i = 1, 100
    write (10, '(a,i5,f10.3)') 'line', i, numbers(i)
  end do
  close (10)
  open (10, file=name, status='old', action='read', position='rewind')
  do i = 1, 50
    read (10, '(a)') line
  end do
  write (*, '(a,i0,a,a)') 'rank ', rank, ': ', trim(line)
  close (10)
  open (10, file=name, status='old', position='append')
  write (10, '(a)') 'appended'
  close (10)
  inquire (file=name, exist=is_there, size=length)
  write (*, '(a,i0,a,l1,i8)') 'rank ', rank, ': exists ', is_there, length
  write (name, '(a,i0)') 'records-', rank
  open (11, file=name, form='unformatted')
  write (11) numbers
  write (11) rank, 42
  rewind (11)
  read (11) back
  read (11) i, value
  write (*, '(a,i0,a,l1,2i6)') 'rank ', rank, ': same ', all(back == numbers), i, value
  close (11)
  write (name, '(a,i0)') 'direct-', rank
  open (12, file=name, access='direct', recl=80, form='unformatted')
  do i = 100, 1, -1
    write (12, rec=i) numbers(i:i+9)
  end do
  read (12, rec=37) back(1:10)
  write (*, '(a,i0,a,2f9.2)') 'rank ', rank, ': record ', back(1), back(10)
  close (12, status='delete')
  inquire (file=name, exist=is_there)
  write (*, '(a,i0,a,l1)') 'rank ', rank, ': deleted ', .not. is_there
  write (name, '(a,i0)') 'stream-', rank
  open (13, file=name, access='stream', form='unformatted')
  write (13) numbers
  read (13, pos=81) back(1)
  inquire (13, pos=i)
  write (*, '(a,i0,a,f9.2,i8)') 'rank ', rank, ': stream ', back(1), i
  close (13)
  open (14, file='missing', status='old', iostat=state)
  write (*, '(a,i0,a,l1)') 'rank ', rank, ': missing ', state /= 0
  call MPI_Finalize(error)
end program
