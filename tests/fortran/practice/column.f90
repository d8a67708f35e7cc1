! Physics of atmospheric columns, as weather models have it: constants and functions, one routine.

module cloud_physics
  implicit none

  integer, parameter :: wp = selected_real_kind(13, 300)

  real(wp), parameter :: gravity = 9.80665_wp
  real(wp), parameter :: gas_dry = 287.06_wp, gas_vapour = 461.53_wp
  real(wp), parameter :: heat_dry = 3.5_wp*gas_dry
  real(wp), parameter :: freezing = 273.16_wp, ice_only = freezing - 23
  real(wp), parameter :: latent_water = 2.5008e6_wp, latent_ice = 2.8345e6_wp
  real(wp), parameter :: ratio = gas_dry/gas_vapour
  real(wp), parameter :: pressure_0 = 611.21_wp
  real(wp), parameter :: critical = 5.0e-4_wp, conversion = 1.0e-3_wp, evaporation = 5.0e-3_wp

contains

  ! The part of condensate that is water: 1 above freezing, 0 below `ice_only`.
  elemental function water_part(t) result(alpha)
    real(wp), intent(in) :: t
    real(wp) :: alpha

    alpha = min(1.0_wp, ((max(ice_only, min(freezing, t)) - ice_only)/(freezing - ice_only))**2)
  end function

  ! The vapour's pressure at saturation, over water and ice.
  elemental function saturation_pressure(t) result(es)
    real(wp), intent(in) :: t
    real(wp) :: es, alpha

    alpha = water_part(t)
    es = pressure_0*(alpha*exp(17.502_wp*(t - freezing)/(t - 32.19_wp)) &
      + (1 - alpha)*exp(22.587_wp*(t - freezing)/(t + 0.7_wp)))
  end function

  ! The specific humidity at saturation.
  elemental function saturation_humidity(t, p) result(qs)
    real(wp), intent(in) :: t, p
    real(wp) :: qs, e

    e = min(0.5_wp, ratio*saturation_pressure(t)/p)
    qs = e/(1 - (1/ratio - 1)*e)
  end function

  pure function latent_heat(t) result(l)
    real(wp), intent(in) :: t
    real(wp) :: l

    if (t >= freezing) then
      l = latent_water
      return
    end if
    l = latent_ice + (latent_water - latent_ice)*water_part(t)
  end function

end module

! One step of 600 to 1200 seconds, level by level from the top. The arguments come in as 0 to 1:
! `dt` for the step, `t` for 235 to 305 K at the ground and less above, `q` and `ql` for humidities
! up to 0.01 and 0.001, `dp` for layers of 1000 to 3000 Pa. Out come `t`, `q` and `ql`
! (in hundredths), and of each column its `rain`, its `cover`, and its `first` saturated level, 0 if
! it has none.
subroutine cloud_column(ncol, nlev, dt, t, q, ql, dp, rain, cover, first)
  use cloud_physics, only: wp, gravity, heat_dry, freezing, critical, conversion, evaporation, &
    latent_water, latent_ice, saturation_humidity, latent_heat, water_part
  implicit none
  integer, intent(in) :: ncol, nlev
  real(wp), intent(in) :: dt
  real(wp), intent(inout) :: t(ncol, nlev), q(ncol, nlev), ql(ncol, nlev)
  real(wp), intent(in) :: dp(ncol, nlev)
  real(wp), intent(out) :: rain(ncol), cover(ncol)
  integer, intent(out) :: first(ncol)
  real(wp), parameter :: humid = 0.01_wp
  real(wp) :: temperature(ncol, nlev), vapour(ncol, nlev), cloud(ncol, nlev)
  real(wp) :: pressure(ncol, 0:nlev), saturated(ncol, nlev)
  real(wp) :: thick(ncol), water(ncol), snow(ncol), clear(ncol), profile(nlev)
  real(wp) :: step, excess, heat, gain, melted, formed, dried, relative, fraction, rate
  logical :: moist(ncol), cold(ncol), raining(ncol)
  integer :: jl, jk

  step = 600*(1 + dt)

  ! 1. The state, in units, and the pressure at the layers' lower edges.
  do jk = 1, nlev
    profile(jk) = 1 - 0.5_wp*real(nlev - jk, wp)/real(nlev, wp)
  end do
  pressure(:, 0) = 20000
  do jk = 1, nlev
    do jl = 1, ncol
      temperature(jl, jk) = 235 + 70*profile(jk)*t(jl, jk)
      vapour(jl, jk) = humid*profile(jk)**2*q(jl, jk)
      cloud(jl, jk) = 0.1_wp*humid*ql(jl, jk)
      pressure(jl, jk) = pressure(jl, jk - 1) + 1000 + 2000*dp(jl, jk)
    end do
    saturated(:, jk) = saturation_humidity(temperature(:, jk), pressure(:, jk))
  end do

  ! 2. The first saturated level of each column.
  do jl = 1, ncol
    first(jl) = 0
    do jk = 1, nlev
      if (vapour(jl, jk) > saturated(jl, jk)) then
        first(jl) = jk
        exit
      end if
    end do
  end do

  ! 3. Condensation and precipitation; `water`, `snow` and `clear` go from level to level.
  water = 0
  snow = 0
  clear = 1
  do jk = 1, nlev
    do jl = 1, ncol
      thick(jl) = (pressure(jl, jk) - pressure(jl, jk - 1))/gravity
      moist(jl) = vapour(jl, jk) > saturated(jl, jk)
      cold(jl) = temperature(jl, jk) < freezing
      raining(jl) = water(jl) + snow(jl) > 0
    end do

    ! 3.1 Vapour above saturation condenses; below, cloud evaporates as far as there is room.
    do jl = 1, ncol
      heat = latent_heat(temperature(jl, jk))/heat_dry
      excess = vapour(jl, jk) - saturated(jl, jk)
      gain = 1 + heat*saturated(jl, jk)*5400/temperature(jl, jk)**2
      if (moist(jl)) then
        formed = excess/gain
      else
        formed = -min(cloud(jl, jk), -0.5_wp*excess/gain)
      end if
      vapour(jl, jk) = vapour(jl, jk) - formed
      cloud(jl, jk) = cloud(jl, jk) + formed
      temperature(jl, jk) = temperature(jl, jk) + heat*formed
    end do

    ! 3.2 Snow from above melts where it is warm.
    do jl = 1, ncol
      if (.not. cold(jl) .and. raining(jl)) then
        melted = min(snow(jl), &
          heat_dry*(temperature(jl, jk) - freezing)*thick(jl)/(step*(latent_ice - latent_water)))
        melted = max(0.0_wp, melted)
        snow(jl) = snow(jl) - melted
        water(jl) = water(jl) + melted
        temperature(jl, jk) = temperature(jl, jk) &
          - melted*step*(latent_ice - latent_water)/(heat_dry*thick(jl))
      end if
    end do

    ! 3.3 Cloud becomes rain or snow, the more the thicker it is.
    do jl = 1, ncol
      relative = (cloud(jl, jk)/critical)**2
      rate = conversion*step*relative/(1 + relative)
      if (cold(jl)) rate = rate*exp(0.025_wp*(temperature(jl, jk) - freezing))
      formed = cloud(jl, jk)*rate/(1 + rate)
      cloud(jl, jk) = cloud(jl, jk) - formed
      fraction = water_part(temperature(jl, jk))
      water(jl) = water(jl) + fraction*formed*thick(jl)/step
      snow(jl) = snow(jl) + (1 - fraction)*formed*thick(jl)/step
    end do

    ! 3.4 Rain evaporates in dry air, not where it has just formed.
    do jl = 1, ncol
      if (moist(jl) .or. .not. raining(jl)) cycle
      relative = min(1.0_wp, vapour(jl, jk)/saturated(jl, jk))
      dried = min(water(jl), evaporation*(1 - relative)*sqrt(water(jl))*thick(jl)/step)
      water(jl) = water(jl) - dried
      vapour(jl, jk) = vapour(jl, jk) + dried*step/thick(jl)
      temperature(jl, jk) = temperature(jl, jk) &
        - latent_water/heat_dry*dried*step/thick(jl)
    end do

    ! 3.5 Layers overlap at random.
    clear = clear*(1 - min(1.0_wp, 0.5_wp*sqrt(max(0.0_wp, cloud(:, jk))/humid)))
  end do

  ! 4. Back to the scale of the arguments.
  do jk = 1, nlev
    do jl = 1, ncol
      t(jl, jk) = (temperature(jl, jk) - 235)/70
      q(jl, jk) = vapour(jl, jk)/humid
      ql(jl, jk) = cloud(jl, jk)/humid
    end do
  end do
  rain = 1000*(water + snow)
  cover = 1 - clear
end subroutine
